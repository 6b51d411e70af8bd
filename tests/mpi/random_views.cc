// Seeded random views, memory types and calls, against a reference that knows only byte lists and POSIX.
//
// A round: every rank writes through its own random filetype - the ranks' filetypes are disjoint, so the content is
// defined - with randomly chosen calls, offsets and memory types; rank 0 compares the file by plain read with what the
// reference computed; then all ranks read back through other random views, also past the end of the file, and compare
// data, counts and the untouched parts of their buffers.
//
// All ranks draw the same numbers, so each one knows every rank's plan; only the rank itself uses its MPI types.
#include "operations.h"
#include "types.h"

namespace {

enum class Layout {
  kWindows,  // the file is dealt out in windows, one per rank; inside its window a rank selects at random
  kCells,    // etype cells owned by random ranks: the finest interleaving
  kDarray,   // the parts of one distributed array
  kDefault,  // no view set; each rank writes its own region
  kCommon,   // all ranks have the same view and use the shared pointer
};
constexpr const char* kLayoutNames[] = {"windows", "cells", "darray", "default", "common"};

struct View {
  int64_t displacement = 0;
  Type filetype;
  int64_t byte(int64_t data_byte) const { return displacement + filetype.at(data_byte); }
};

struct Operation {
  Call call;
  bool seek = false;       // position the individual pointer at `offset` first
  int64_t offset = 0;      // etypes
  int64_t count = 0;       // items of memory
  Type memory;
  bool by_test = false;
  uint64_t id = 0;
};

using Content = std::vector<unsigned char>;

void store(Content* content, int64_t position, unsigned char value) {
  if (position >= static_cast<int64_t>(content->size())) content->resize(static_cast<size_t>(position) + 1, 0);
  (*content)[static_cast<size_t>(position)] = value;
}

Type random_etype(Random& random) {
  if (random.one_in(3)) return basic_type(MPI_BYTE, 1, "BYTE");
  const Type leaf = random_basic_type(random);
  if (random.one_in(2)) return leaf;
  TypeRules rules;
  rules.ascending = rules.nonnegative = true;
  rules.allow_overlap = false;
  rules.max_bytes = 48;
  rules.max_span = 128;
  Type t = random_type(random, rules, leaf, static_cast<int>(random.in(1, 2)));
  if (t.lower != 0 || t.extent < t.true_upper()) {  // etypes side by side must not interleave
    Type wide = resized(t, 0, std::max(t.extent, t.true_upper()));
    MPI_Type_commit(&wide.mpi);
    t.free();
    return wide;
  }
  return t;
}

Type random_filetype(Random& random, const Type& etype) {
  TypeRules rules;
  rules.ascending = rules.nonnegative = true;
  rules.allow_overlap = false;
  rules.max_bytes = 1024;
  rules.max_span = 8192;
  rules.unit = etype.extent;
  if (etype.text == "BYTE" && random.one_in(2)) {  // any basic type under an etype of bytes
    return random_type(random, rules, random_basic_type(random), static_cast<int>(random.in(0, 3)));
  }
  return random_type(random, rules, etype, static_cast<int>(random.in(0, 3)));
}

/// `t` with lower bound 0 and extent `extent`, committed; takes `t` over.
Type stretched(Type t, int64_t extent) {
  Type wide = resized(t, 0, extent);
  MPI_Type_commit(&wide.mpi);
  t.free();
  return wide;
}

/// Filetype that selects the given etype cells, made with a random constructor.
Type cells_type(Random& random, const Type& etype, const std::vector<int64_t>& cells, int64_t total) {
  std::vector<int> ones(cells.size(), 1), places(cells.begin(), cells.end());
  std::vector<MPI_Aint> byte_places;
  std::vector<MPI_Datatype> members(cells.size(), etype.mpi);
  Assembly assembly(etype);
  for (int64_t c : cells) {
    assembly.add(c * etype.extent, 1);
    byte_places.push_back(c * etype.extent);
  }
  const int n = static_cast<int>(cells.size());
  MPI_Datatype mpi;
  const char* name = "";
  switch (random.in(0, 4)) {
    case 0:
      MPI_Type_indexed(n, ones.data(), places.data(), etype.mpi, &mpi);
      name = "indexed";
      break;
    case 1:
      MPI_Type_create_indexed_block(n, 1, places.data(), etype.mpi, &mpi);
      name = "indexed_block";
      break;
    case 2:
      MPI_Type_create_hindexed(n, ones.data(), byte_places.data(), etype.mpi, &mpi);
      name = "hindexed";
      break;
    case 3:
      MPI_Type_create_hindexed_block(n, 1, byte_places.data(), etype.mpi, &mpi);
      name = "hindexed_block";
      break;
    default:
      MPI_Type_create_struct(n, ones.data(), byte_places.data(), members.data(), &mpi);
      name = "struct";
      break;
  }
  std::string text = std::string("cells:") + name + "(";
  for (int64_t c : cells) text += std::to_string(c) + ",";
  return stretched(assembly.finish(mpi, text + etype.text + ")"), total * etype.extent);
}

/// One view per rank; for kDefault the filetypes are MPI_BYTE and never set.
std::vector<View> make_views(Random& random, Layout layout, const Type& etype, int ranks) {
  std::vector<View> views(static_cast<size_t>(ranks));
  const int64_t base = random.one_in(3) ? 0 : random.in(0, 300);
  switch (layout) {
    case Layout::kWindows: {
      int64_t window = 1;
      for (View& view : views) {
        view.filetype = random_filetype(random, etype);
        window = std::max(window, view.filetype.true_upper());
      }
      window = types_internal::round_up(window + random.in(0, 20), etype.extent);
      for (int r = 0; r < ranks; ++r) {
        View& view = views[static_cast<size_t>(r)];
        view.displacement = base + r * window;
        view.filetype = stretched(std::move(view.filetype), ranks * window);
      }
      return views;
    }
    case Layout::kCells: {
      const int64_t total = random.in(ranks, ranks + 40);
      std::vector<std::vector<int64_t>> cells(static_cast<size_t>(ranks));
      for (int64_t c = 0; c < total; ++c) {
        // the first cells make sure that everyone has one; owner == ranks is a hole
        const int64_t owner = c < ranks ? c : random.in(0, ranks);
        if (owner < ranks) cells[static_cast<size_t>(owner)].push_back(c);
      }
      for (int r = 0; r < ranks; ++r) {
        views[static_cast<size_t>(r)].displacement = base;
        views[static_cast<size_t>(r)].filetype = cells_type(random, etype, cells[static_cast<size_t>(r)], total);
      }
      return views;
    }
    case Layout::kDarray:
      for (;;) {
        const uint64_t seed = random.next();
        bool all_have_some = true;
        for (int r = 0; r < ranks; ++r) {
          Random same(seed);
          Type t = random_darray(same, ranks, r, etype);
          MPI_Type_commit(&t.mpi);
          all_have_some = all_have_some && t.size() > 0;
          views[static_cast<size_t>(r)].filetype = std::move(t);
          views[static_cast<size_t>(r)].displacement = base;
        }
        if (all_have_some) return views;
        for (View& view : views) view.filetype.free();
      }
    case Layout::kDefault:
      for (View& view : views) view.filetype = basic_type(MPI_BYTE, 1, "BYTE");
      return views;
    case Layout::kCommon: {
      const uint64_t seed = random.next();
      for (View& view : views) {
        Random same(seed);
        view.displacement = base;
        view.filetype = random_filetype(same, etype);
        view.filetype =
            stretched(std::move(view.filetype), types_internal::round_up(view.filetype.true_upper(), etype.extent));
      }
      return views;
    }
  }
  return views;
}

/// The calls of a phase, one list per rank; entry i has the same call on all ranks, other parameters differ.
std::vector<std::vector<Operation>> make_operations(Random& random, Layout layout, const Type& etype, int ranks,
                                                    bool write) {
  std::vector<std::vector<Operation>> all(static_cast<size_t>(ranks));
  const int64_t rounds = random.in(1, 4);
  bool positioned = false;  // the individual pointers stand where the layout wants them
  for (int64_t i = 0; i < rounds; ++i) {
    const Call call = layout == Layout::kCommon
                          ? static_cast<Call>(random.in(static_cast<int>(Call::kShared), kCalls - 1))
                          : static_cast<Call>(random.in(0, static_cast<int>(Call::kShared) - 1));
    for (int r = 0; r < ranks; ++r) {
      Operation op;
      op.call = call;
      op.id = static_cast<uint64_t>(i);
      TypeRules rules;
      rules.allow_overlap = write;
      rules.max_bytes = random.one_in(4) ? 8192 : 1024;
      op.memory = random_type(random, rules, etype, static_cast<int>(random.in(0, 3)));
      op.count = random.one_in(6) ? 0 : random.in(1, 3);
      // items in memory that overlap each other must not receive data
      if (!write && !op.memory.free_of_overlap(op.count)) op.count = 1;
      op.offset = random.in(0, 40);
      if (layout == Layout::kDefault && write) op.offset += r * 32768;
      op.seek = !positioned || random.one_in(3);
      op.by_test = random.one_in(2);
      all[static_cast<size_t>(r)].push_back(std::move(op));
    }
    positioned = positioned || is_individual(call);
  }
  return all;
}

/// Where the data of each operation starts, in etypes: the reference's file pointers.
std::vector<std::vector<int64_t>> start_offsets(const std::vector<std::vector<Operation>>& plan, int64_t etype_size) {
  std::vector<std::vector<int64_t>> starts(plan.size());
  std::vector<int64_t> individual(plan.size(), 0);
  int64_t shared = 0;
  for (size_t i = 0; i < plan[0].size(); ++i) {
    for (size_t r = 0; r < plan.size(); ++r) {
      const Operation& op = plan[r][i];
      const int64_t items = op.count * op.memory.size() / etype_size;
      if (is_explicit(op.call)) {
        starts[r].push_back(op.offset);
      } else if (is_individual(op.call)) {
        if (op.seek) individual[r] = op.offset;
        starts[r].push_back(individual[r]);
        individual[r] += items;
      } else {  // shared: the test lets the ranks go in rank order
        starts[r].push_back(shared);
        shared += items;
      }
    }
  }
  return starts;
}

struct Round {
  const Session& session;
  int ranks;
  int rank;
  bool canary;
};

void set_view(MPI_File file, const View& view, const Type& etype) {
  CHECK_OK(MPI_File_set_view(file, view.displacement, etype.mpi, view.filetype.mpi, "native", MPI_INFO_NULL));
}

/// Runs one operation on this rank; non-collective shared-pointer calls go in rank order.
template <class Body>
void in_turn(const Operation& op, int ranks, int rank, Body body) {
  const bool turns = op.call == Call::kShared || op.call == Call::kIshared;
  for (int r = 0; r < (turns ? ranks : 1); ++r) {
    if (!turns || r == rank) body();
    if (turns) MPI_Barrier(MPI_COMM_WORLD);
  }
}

void write_phase(const Round& round, MPI_File file, const std::vector<Operation>& mine, const std::string& context) {
  for (const Operation& op : mine) {
    tally().context =
        context + " write " + call_name(op.call) + " " + std::to_string(op.count) + " x " + op.memory.text;
    Memory memory(op.memory, op.count);
    for (int64_t i = 0; i < memory.data_bytes(); ++i) {
      memory.byte(i) = stamp(static_cast<uint64_t>(round.rank), op.id, static_cast<uint64_t>(op.memory.at(i)));
    }
    if (is_individual(op.call) && op.seek) CHECK_OK(MPI_File_seek(file, op.offset, MPI_SEEK_SET));
    in_turn(op, round.ranks, round.rank, [&] {
      MPI_Status status;
      CHECK_OK(write_by(op.call, file, op.offset, memory.buffer(), static_cast<int>(op.count), op.memory.mpi, &status,
                        op.by_test));
      CHECK_EQ(status_bytes(status), memory.data_bytes());
    });
    CHECK_EQ(memory.trespasses(), 0);
  }
}

void read_phase(const Round& round, MPI_File file, const View& view, const std::vector<Operation>& mine,
                const std::vector<int64_t>& starts, int64_t etype_size, const Content& content,
                const std::string& context) {
  const auto end = static_cast<int64_t>(content.size());
  for (size_t k = 0; k < mine.size(); ++k) {
    const Operation& op = mine[k];
    tally().context = context + " read " + call_name(op.call) + " at " + std::to_string(starts[k]) + ", " +
                      std::to_string(op.count) + " x " + op.memory.text;
    Memory memory(op.memory, op.count);
    // An individual pointer is set before every read: where it stands after a short read is random_calls' business.
    if (is_individual(op.call)) CHECK_OK(MPI_File_seek(file, starts[k], MPI_SEEK_SET));
    int64_t received = -1;
    in_turn(op, round.ranks, round.rank, [&] {
      MPI_Status status;
      CHECK_OK(read_by(op.call, file, op.offset, memory.buffer(), static_cast<int>(op.count), op.memory.mpi, &status,
                       op.by_test));
      received = status_bytes(status);
    });
    int64_t available = 0;
    while (available < memory.data_bytes() && view.byte(starts[k] * etype_size + available) < end) ++available;
    CHECK_EQ(received, available);
    int64_t wrong = -1;
    for (int64_t i = available - 1; i >= 0; --i) {
      if (memory.byte(i) != content[static_cast<size_t>(view.byte(starts[k] * etype_size + i))]) wrong = i;
    }
    record(wrong < 0, __FILE__, __LINE__, "data byte %lld read from file byte %lld is wrong",
           static_cast<long long>(wrong),
           wrong < 0 ? 0LL : static_cast<long long>(view.byte(starts[k] * etype_size + wrong)));
    CHECK_EQ(memory.trespasses(), 0);
  }
}

void free_all(std::vector<View>* views, std::vector<std::vector<Operation>>* plan) {
  for (View& view : *views) view.filetype.free();
  for (auto& operations : *plan) {
    for (Operation& op : operations) op.memory.free();
  }
}

void run_round(const Round& round, uint64_t seed, int64_t number) {
  Random random(mix(seed, static_cast<uint64_t>(round.ranks), static_cast<uint64_t>(number)));
  const auto layout = static_cast<Layout>(random.in(0, 4));
  Type etype = layout == Layout::kDefault ? basic_type(MPI_BYTE, 1, "BYTE") : random_etype(random);
  std::vector<View> views = make_views(random, layout, etype, round.ranks);
  auto plan = make_operations(random, layout, etype, round.ranks, true);
  const auto starts = start_offsets(plan, etype.size());
  View& mine = views[static_cast<size_t>(round.rank)];
  const std::string context = "seed " + std::to_string(seed) + " round " + std::to_string(number) + " " +
                              kLayoutNames[static_cast<int>(layout)] + " etype " + etype.text + " filetype " +
                              mine.filetype.text + " displacement " + std::to_string(mine.displacement);
  tally().context = context;
  check_type(etype);
  check_type(mine.filetype);

  Content expected;
  for (size_t i = 0; i < plan[0].size(); ++i) {
    for (size_t r = 0; r < plan.size(); ++r) {
      const Operation& op = plan[r][i];
      for (int64_t b = 0; b < op.count * op.memory.size(); ++b) {
        store(&expected, views[r].byte(starts[r][i] * etype.size() + b),
              stamp(static_cast<uint64_t>(r), op.id, static_cast<uint64_t>(op.memory.at(b))));
      }
    }
  }
  if (round.canary && !expected.empty()) expected[expected.size() / 2] ^= 1;

  MPI_Info hints = random_hints(random);
  MPI_File file = round.session.open(MPI_COMM_WORLD, "views", MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
  if (layout != Layout::kDefault) set_view(file, mine, etype);
  if (random.one_in(2)) {  // the view keeps what it needs of the types
    mine.filetype.free();
    etype.free();
  }
  write_phase(round, file, plan[static_cast<size_t>(round.rank)], context);

  const bool reopen = random.one_in(2);
  tally().context = context;
  if (reopen) {
    CHECK_OK(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    make_visible(file, MPI_COMM_WORLD);
  }
  if (round.rank == 0) CHECK_BYTES(posix_read(round.session.path("views")), expected, "file content");
  MPI_Barrier(MPI_COMM_WORLD);
  if (reopen) file = round.session.open(MPI_COMM_WORLD, "views", MPI_MODE_RDONLY, hints);
  MPI_Info_free(&hints);

  for (int64_t pass = random.in(1, 2); pass > 0; --pass) {
    const bool common = random.one_in(4);
    // overlapping regions are allowed only while the file is open for nothing but reading (MPI-4.0 section 14.3)
    const bool overlapping = !common && reopen && random.one_in(3);
    Type read_etype = overlapping ? basic_type(MPI_INT, 4, "INT") : random_etype(random);
    std::vector<View> read_views;
    if (overlapping) {  // reading the same bytes several times is allowed: INTs closer together than 4 bytes
      for (int r = 0; r < round.ranks; ++r) {
        View view;
        const int64_t count = random.in(2, 6), stride = random.in(0, 4);
        Assembly assembly(read_etype);
        for (int64_t i = 0; i < count; ++i) assembly.add(i * stride, 1);
        MPI_Datatype mpi;
        MPI_Type_create_hvector(static_cast<int>(count), 1, stride, MPI_INT, &mpi);
        view.filetype =
            assembly.finish(mpi, "overlapping hvector(" + std::to_string(count) + "," + std::to_string(stride) + ")");
        MPI_Type_commit(&view.filetype.mpi);
        view.displacement = random.in(0, 20);
        read_views.push_back(std::move(view));
      }
    } else if (common) {
      read_views = make_views(random, Layout::kCommon, read_etype, round.ranks);
    } else {
      for (int r = 0; r < round.ranks; ++r) {
        View view;
        view.filetype = random_filetype(random, read_etype);
        view.displacement = random.in(0, 100);
        if (view.filetype.lower != 0 || view.filetype.extent < view.filetype.true_upper()) {
          view.filetype = stretched(std::move(view.filetype),
                                    types_internal::round_up(view.filetype.true_upper(), read_etype.extent));
        }
        read_views.push_back(std::move(view));
      }
    }
    auto read_plan =
        make_operations(random, common ? Layout::kCommon : Layout::kDefault, read_etype, round.ranks, false);
    if (overlapping) {  // where the end of the file cuts an overlapping view, "how much was read" has no one answer
      for (size_t r = 0; r < read_plan.size(); ++r) {
        for (Operation& op : read_plan[r]) {
          const int64_t last = read_views[r].displacement + (op.offset + op.count * op.memory.size()) * 4 + 64;
          if (last > static_cast<int64_t>(expected.size()) || is_individual(op.call)) op.count = 0;
        }
      }
    }
    const auto read_starts = start_offsets(read_plan, read_etype.size());
    const View& view = read_views[static_cast<size_t>(round.rank)];
    const std::string read_context = context + "\n    reading: etype " + read_etype.text + " filetype " +
                                     view.filetype.text + " displacement " + std::to_string(view.displacement);
    tally().context = read_context;
    check_type(view.filetype);
    set_view(file, view, read_etype);
    if (!round.canary) {
      read_phase(round, file, view, read_plan[static_cast<size_t>(round.rank)],
                 read_starts[static_cast<size_t>(round.rank)], read_etype.size(), expected, read_context);
    }
    free_all(&read_views, &read_plan);
    read_etype.free();
  }
  tally().context = context;
  CHECK_OK(MPI_File_close(&file));
  free_all(&views, &plan);
  etype.free();
  round.session.remove("views");
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv);
  const auto seed = static_cast<uint64_t>(env_number("SUIRO_TEST_SEED", 20261));
  const int64_t rounds = env_number("SUIRO_TEST_ROUNDS", 120);
  const bool canary = env_number("SUIRO_TEST_CANARY", 0) == 1;
  for_each_round(rounds,
                 [&](int64_t number) { run_round({session, session.size, session.rank, canary}, seed, number); });
  tally().context.clear();
  return session.finish();
}
