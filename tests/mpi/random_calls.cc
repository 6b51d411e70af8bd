// Seeded random call sequences on one shared file from all ranks, against a model of the file that every rank keeps:
// content, individual and shared pointers, view, size, atomicity. In each step either all ranks make a collective call
// or one rank acts alone; between steps the file is made visible (sync-barrier-sync, or a barrier in atomic mode), so
// the result is defined and the model is exact.
#include <algorithm>
#include <utility>

#include "operations.h"

namespace {

// A regular view the model can compute with in one line: blocks of `block` etypes every `stride` etypes.
struct View {
  int64_t displacement = 0;
  int64_t etype_bytes = 1;
  int64_t block = 1, stride = 1;
  bool common = true;  // all ranks have the same view, so the shared pointer may be used

  int64_t byte_of(int64_t offset) const {
    return displacement + (offset / block * stride + offset % block) * etype_bytes;
  }
  /// Offset of the first etype after the end of a file of `size` bytes (MPI_SEEK_END).
  int64_t end_offset(int64_t size) const {
    int64_t offset = 0;
    while (byte_of(offset) < size) ++offset;
    return offset;
  }
};

struct Model {
  std::vector<unsigned char> content;
  std::vector<int64_t> individual;
  int64_t shared = 0;
  std::vector<View> views;
  bool atomic = false;

  int64_t size() const { return static_cast<int64_t>(content.size()); }
  void write(const View& view, int64_t offset, int64_t etypes, int rank, uint64_t id) {
    for (int64_t i = 0; i < etypes * view.etype_bytes; ++i) {
      const int64_t at = view.byte_of(offset + i / view.etype_bytes) + i % view.etype_bytes;
      if (at >= size()) content.resize(static_cast<size_t>(at) + 1, 0);
      content[static_cast<size_t>(at)] = stamp(static_cast<uint64_t>(rank), id, static_cast<uint64_t>(i));
    }
  }
  /// The bytes a read gets: it stops at the end of the file.
  std::vector<unsigned char> read(const View& view, int64_t offset, int64_t etypes) const {
    std::vector<unsigned char> data;
    for (int64_t i = 0; i < etypes * view.etype_bytes; ++i) {
      const int64_t at = view.byte_of(offset + i / view.etype_bytes) + i % view.etype_bytes;
      if (at >= size()) break;
      data.push_back(content[static_cast<size_t>(at)]);
    }
    return data;
  }
};

class Player {
 public:
  Player(const Session& session, uint64_t seed, int64_t round)
      : session_(session),
        random_(mix(seed, static_cast<uint64_t>(session.size), static_cast<uint64_t>(round))),
        context_("seed " + std::to_string(seed) + " round " + std::to_string(round)) {
    model_.individual.assign(static_cast<size_t>(session.size), 0);
    model_.views.assign(static_cast<size_t>(session.size), View());
  }

  void play(int steps) {
    amode_ = MPI_MODE_CREATE | MPI_MODE_RDWR;
    MPI_Info hints = random_hints(random_);
    file_ = session_.open(MPI_COMM_WORLD, "calls", amode_, hints);
    MPI_Info_free(&hints);
    for (step_ = 0; step_ < steps; ++step_) {
      step();
      settle();
    }
    context("end");
    CHECK_OK(MPI_File_close(&file_));
    MPI_Barrier(MPI_COMM_WORLD);
    if (session_.rank == 0) CHECK_BYTES(posix_read(session_.path("calls")), model_.content, "file after all calls");
    session_.remove("calls");
  }

 private:
  View& mine() { return model_.views[static_cast<size_t>(session_.rank)]; }
  int64_t& pointer(int rank) { return model_.individual[static_cast<size_t>(rank)]; }

  void context(const std::string& what) {
    what_ = what;
    tally().context =
        context_ + " step " + std::to_string(step_) + " " + what + (history_.empty() ? "" : " after" + history_);
  }

  /// What one step wrote must be visible to all before the next.
  void settle() {
    if (model_.atomic) {
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      make_visible(file_, MPI_COMM_WORLD);
    }
    history_ += " | " + what_;
    if (history_.size() > 400) history_.erase(0, history_.size() - 400);
  }

  void step() {
    const int64_t kind = random_.in(0, 99);
    if (kind < 55) return data();
    if (kind < 65) return seek();
    if (kind < 70) return seek_shared();
    if (kind < 78) return set_view();
    if (kind < 82) return set_size();
    if (kind < 85) return preallocate();
    if (kind < 88) return set_atomicity();
    if (kind < 91) return reopen();
    queries();
  }

  void data() {
    const bool common = model_.views[0].common;
    const auto call = static_cast<Call>(random_.in(0, common ? kCalls - 1 : static_cast<int>(Call::kShared) - 1));
    const bool write = random_.one_in(2);
    const int actor = is_collective(call) ? -1 : static_cast<int>(random_.in(0, session_.size - 1));
    const uint64_t id = random_.next();
    const bool by_test = random_.one_in(2);
    const int64_t base = random_.in(0, 60);
    std::vector<int64_t> counts, offsets;
    for (int r = 0; r < session_.size; ++r) {
      counts.push_back(random_.one_in(6) ? 0 : random_.in(1, 12));
      offsets.push_back(base + random_.in(0, 80));
    }
    context(std::string(write ? "write " : "read ") + call_name(call) +
            (actor < 0 ? "" : " by " + std::to_string(actor)));
    if (write && actor < 0 && (is_explicit(call) || is_individual(call)) && session_.size > 1) {
      separate(call, base, &offsets);
    }
    for (int r = 0; r < session_.size; ++r) {
      if (actor >= 0 && r != actor) continue;
      const auto i = static_cast<size_t>(r);
      const View& view = model_.views[i];
      int64_t offset = offsets[i];
      if (is_individual(call)) {
        // At the end of the file an individual pointer stays behind the last etype read; the shared pointer, which
        // reserves the place before the data moves, goes on by what was asked for.
        offset = pointer(r);
        const auto read_here = static_cast<int64_t>(model_.read(view, offset, counts[i]).size()) / view.etype_bytes;
        pointer(r) += write ? counts[i] : read_here;
      }
      if (is_shared(call)) offset = std::exchange(model_.shared, model_.shared + counts[i]);
      if (!write) {
        if (r == session_.rank) read_here(call, offsets[i], counts[i], model_.read(view, offset, counts[i]), by_test);
      } else {
        model_.write(view, offset, counts[i], r, id);
        if (r == session_.rank) write_here(call, offsets[i], counts[i], id, by_test);
      }
    }
  }

  /// Ranks with overlapping regions in one collective write would make the content undefined: every rank gets a byte
  /// range of its own, whatever its view.
  void separate(Call call, int64_t base, std::vector<int64_t>* offsets) {
    for (int r = 0; r < session_.size; ++r) {
      const View& view = model_.views[static_cast<size_t>(r)];
      // first offset at or behind the byte where this rank's region begins; regions are 4096 bytes apart
      const int64_t region = 512 + (base % 8) * 64 + r * 4096;
      int64_t offset = 0;
      while (view.byte_of(offset) < region) ++offset;
      (*offsets)[static_cast<size_t>(r)] = offset;
      if (is_individual(call)) {
        pointer(r) = offset;
        if (r == session_.rank) CHECK_OK(MPI_File_seek(file_, offset, MPI_SEEK_SET));
      }
    }
  }

  static MPI_Datatype memory_type(int64_t bytes) {
    return bytes == 1 ? MPI_BYTE : bytes == 2 ? MPI_SHORT : bytes == 4 ? MPI_INT : MPI_DOUBLE;
  }

  void write_here(Call call, int64_t offset, int64_t count, uint64_t id, bool by_test) {
    const int64_t etype_bytes = mine().etype_bytes;
    std::vector<unsigned char> data;
    for (int64_t i = 0; i < count * etype_bytes; ++i) {
      data.push_back(stamp(static_cast<uint64_t>(session_.rank), id, static_cast<uint64_t>(i)));
    }
    data.push_back(0);  // never an empty buffer
    MPI_Status status;
    CHECK_OK(write_by(call, file_, offset, data.data(), static_cast<int>(count), memory_type(etype_bytes), &status,
                      by_test));
    check_status(status, count * etype_bytes, etype_bytes);
  }

  void read_here(Call call, int64_t offset, int64_t count, const std::vector<unsigned char>& expected, bool by_test) {
    const int64_t etype_bytes = mine().etype_bytes;
    std::vector<unsigned char> data(static_cast<size_t>(count * etype_bytes) + 1, 0xA5);
    MPI_Status status;
    CHECK_OK(
        read_by(call, file_, offset, data.data(), static_cast<int>(count), memory_type(etype_bytes), &status, by_test));
    check_status(status, static_cast<int64_t>(expected.size()), etype_bytes);
    CHECK_EQ(data.back(), 0xA5);
    data.resize(expected.size());
    CHECK_BYTES(data, expected, "data read");
  }

  static void check_status(const MPI_Status& status, int64_t bytes, int64_t etype_bytes) {
    int count = -7;
    CHECK_OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ(count, bytes);
    CHECK_OK(MPI_Get_count(&status, memory_type(etype_bytes), &count));
    CHECK_EQ(count, bytes % etype_bytes == 0 ? bytes / etype_bytes : MPI_UNDEFINED);
    if (bytes % etype_bytes == 0) {
      CHECK_OK(MPI_Get_elements(&status, memory_type(etype_bytes), &count));
      CHECK_EQ(count, bytes / etype_bytes);
    }
    int cancelled = 1;
    CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 0);
  }

  void seek() {
    const int actor = static_cast<int>(random_.in(0, session_.size - 1));
    int whence = 0;
    int64_t offset = 0, target = 0;
    choose_seek(pointer(actor), model_.views[static_cast<size_t>(actor)], &whence, &offset, &target);
    context("seek to " + std::to_string(target) + " by " + std::to_string(actor));
    if (actor == session_.rank) {
      if (target < 0) {
        CHECK_CLASS(MPI_File_seek(file_, offset, whence), MPI_ERR_ARG);
      } else {
        CHECK_OK(MPI_File_seek(file_, offset, whence));
      }
    }
    if (target >= 0) pointer(actor) = target;
    check_position();
  }

  void seek_shared() {
    if (!model_.views[0].common) return context("no seek_shared");
    int whence = 0;
    int64_t offset = 0, target = 0;
    choose_seek(model_.shared, model_.views[0], &whence, &offset, &target);
    context("seek_shared to " + std::to_string(target));
    if (target < 0) {
      CHECK_CLASS(MPI_File_seek_shared(file_, offset, whence), MPI_ERR_ARG);
    } else {
      CHECK_OK(MPI_File_seek_shared(file_, offset, whence));
      model_.shared = target;
    }
    check_position();
  }

  void choose_seek(int64_t current, const View& view, int* whence, int64_t* offset, int64_t* target) {
    switch (random_.in(0, 2)) {
      case 0:
        *whence = MPI_SEEK_SET;
        *offset = random_.in(-2, 90);
        *target = *offset;
        break;
      case 1:
        *whence = MPI_SEEK_CUR;
        *offset = random_.in(-30, 40);
        *target = current + *offset;
        break;
      default:
        *whence = MPI_SEEK_END;
        *offset = random_.in(-20, 10);
        *target = view.end_offset(model_.size()) + *offset;
        break;
    }
  }

  void check_position() {
    MPI_Offset position = -1;
    CHECK_OK(MPI_File_get_position(file_, &position));
    CHECK_EQ(position, pointer(session_.rank));
    MPI_Barrier(MPI_COMM_WORLD);  // nobody moves the shared pointer while another looks
    if (model_.views[0].common) {
      CHECK_OK(MPI_File_get_position_shared(file_, &position));
      CHECK_EQ(position, model_.shared);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void set_view() {
    static constexpr int64_t kEtypeBytes[] = {1, 2, 4, 8};
    const bool common = random_.one_in(2);
    View shared;
    for (int r = 0; r < session_.size; ++r) {
      View view;
      view.common = common;
      // the etype's extent must be the same on all ranks
      view.etype_bytes = r == 0 ? kEtypeBytes[random_.in(0, 3)] : model_.views[0].etype_bytes;
      view.displacement = random_.in(0, 40);
      view.block = random_.in(1, 4);
      view.stride = view.block + random_.in(0, 3);
      if (r == 0) shared = view;
      model_.views[static_cast<size_t>(r)] = common ? shared : view;
      pointer(r) = 0;
    }
    model_.shared = 0;
    const View& view = mine();
    context("set_view +" + std::to_string(view.displacement) + " " + std::to_string(view.block) + "/" +
            std::to_string(view.stride) + " of " + std::to_string(view.etype_bytes));
    const MPI_Datatype etype = memory_type(view.etype_bytes);
    MPI_Datatype block, filetype;
    MPI_Type_contiguous(static_cast<int>(view.block), etype, &block);
    MPI_Type_create_resized(block, 0, view.stride * view.etype_bytes, &filetype);
    MPI_Type_commit(&filetype);
    CHECK_OK(MPI_File_set_view(file_, view.displacement, etype, filetype, "native", MPI_INFO_NULL));
    MPI_Type_free(&block);
    MPI_Type_free(&filetype);
    check_position();
  }

  void set_size() {
    const int64_t size = random_.in(0, 3000);
    context("set_size " + std::to_string(size));
    CHECK_OK(MPI_File_set_size(file_, size));
    model_.content.resize(static_cast<size_t>(size), 0);
    check_size();
    check_position();  // "does not affect the individual or shared file pointers"
  }

  void preallocate() {
    const int64_t size = random_.in(0, 5000);
    context("preallocate " + std::to_string(size));
    CHECK_OK(MPI_File_preallocate(file_, size));
    if (size > model_.size()) model_.content.resize(static_cast<size_t>(size), 0);
    check_size();
    check_position();
  }

  void check_size() {
    MPI_Offset size = -1;
    CHECK_OK(MPI_File_get_size(file_, &size));
    CHECK_EQ(size, model_.size());
  }

  void set_atomicity() {
    model_.atomic = random_.one_in(2);
    context(model_.atomic ? "atomic" : "not atomic");
    CHECK_OK(MPI_File_set_atomicity(file_, model_.atomic));
    int flag = -1;
    CHECK_OK(MPI_File_get_atomicity(file_, &flag));
    CHECK_EQ(flag != 0, model_.atomic);
  }

  void reopen() {
    const bool append = random_.one_in(2);
    context(append ? "reopen for appending" : "reopen");
    CHECK_OK(MPI_File_close(&file_));
    CHECK(file_ == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (session_.rank == 0) CHECK_BYTES(posix_read(session_.path("calls")), model_.content, "file after close");
    MPI_Barrier(MPI_COMM_WORLD);
    amode_ = MPI_MODE_RDWR | (append ? MPI_MODE_APPEND : 0);
    file_ = session_.open(MPI_COMM_WORLD, "calls", amode_);
    std::fill(model_.views.begin(), model_.views.end(), View());
    std::fill(model_.individual.begin(), model_.individual.end(), append ? model_.size() : 0);
    model_.shared = append ? model_.size() : 0;
    model_.atomic = false;
    check_position();
  }

  void queries() {
    context("queries");
    check_size();
    check_position();
    const int64_t offset = random_.in(0, 70);
    MPI_Offset byte = -1;
    CHECK_OK(MPI_File_get_byte_offset(file_, offset, &byte));
    CHECK_EQ(byte, mine().byte_of(offset));
    int amode = -1;
    CHECK_OK(MPI_File_get_amode(file_, &amode));
    CHECK_EQ(amode, amode_);
    MPI_Group group, world;
    int same = -1;
    CHECK_OK(MPI_File_get_group(file_, &group));
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &same);
    CHECK_EQ(same, MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Offset displacement = -1;
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING] = "";
    CHECK_OK(MPI_File_get_view(file_, &displacement, &etype, &filetype, datarep));
    CHECK_EQ(displacement, mine().displacement);
    CHECK_EQ(std::string(datarep), "native");
    int size = -1;
    MPI_Type_size(etype, &size);
    CHECK_EQ(size, mine().etype_bytes);
    free_unless_named(etype);
    MPI_Type_size(filetype, &size);
    CHECK_EQ(size, mine().etype_bytes * mine().block);
    free_unless_named(filetype);
  }

  const Session& session_;
  Random random_;
  std::string context_, what_, history_;
  Model model_;
  MPI_File file_ = MPI_FILE_NULL;
  int amode_ = 0;
  int step_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv);
  const auto seed = static_cast<uint64_t>(env_number("SUIRO_TEST_SEED", 20263));
  const int64_t rounds = env_number("SUIRO_TEST_ROUNDS", 300) / 10;  // a round here is ten times as long as elsewhere
  for_each_round(rounds, [&](int64_t round) { Player(session, seed, round).play(60); });
  tally().context.clear();
  return session.finish();
}
