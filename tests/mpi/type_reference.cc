// The reference of the random tests must itself be right: its byte lists against MPI_Pack, which shares no code with
// MPI-IO. Needs no file.
#include "types.h"

int main(int argc, char** argv) {
  Session session(argc, argv);
  const auto seed = static_cast<uint64_t>(env_number("SUIRO_TEST_SEED", 20262));
  for_each_round(env_number("SUIRO_TEST_ROUNDS", 2000), [&](int64_t round) {
    Random random(mix(seed, static_cast<uint64_t>(round)));
    const Type leaf = random_basic_type(random);
    TypeRules rules;
    rules.ascending = rules.nonnegative = random.one_in(2);
    rules.allow_overlap = !rules.ascending;
    Type type = random_type(random, rules, leaf, static_cast<int>(random.in(0, 4)));
    tally().context = "seed " + std::to_string(seed) + " round " + std::to_string(round) + " " + type.text;
    check_type(type);
    const int64_t count = random.in(1, 3);
    Memory memory(type, count);
    std::vector<unsigned char> expected, packed(static_cast<size_t>(memory.data_bytes()));
    for (int64_t i = 0; i < memory.data_bytes(); ++i) memory.byte(i) = static_cast<unsigned char>(random.next());
    for (int64_t i = 0; i < memory.data_bytes(); ++i) expected.push_back(memory.byte(i));
    int position = 0;
    CHECK_OK(MPI_Pack(memory.buffer(), static_cast<int>(count), type.mpi, packed.data(),
                      static_cast<int>(packed.size()), &position, MPI_COMM_SELF));
    CHECK_BYTES(packed, expected, "MPI_Pack against the reference");
    type.free();
  });
  tally().context.clear();
  return session.finish();
}
