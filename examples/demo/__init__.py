"""The parts of the demo: launching programs, knowing the examples, judging what they left, showing it."""
