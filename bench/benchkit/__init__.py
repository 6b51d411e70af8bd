"""Parts of bench/run_bench.py: statistics, targets, tables, machine description, and the running of one benchmark."""
