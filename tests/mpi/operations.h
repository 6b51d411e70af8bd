// Every way of MPI-IO to move one piece of data, behind one function, so that a test can choose at random.
#pragma once

#include "test.h"

namespace suiro_test {

enum class Call {
  kAt,
  kIat,
  kAtAll,
  kIatAll,
  kAtAllSplit,          // explicit offsets
  kPlain,
  kI,
  kAll,
  kIall,
  kAllSplit,               // individual pointer
  kShared,
  kIshared,
  kOrdered,
  kOrderedSplit,       // shared pointer
};
constexpr int kCalls = 14;

inline bool is_explicit(Call call) { return call <= Call::kAtAllSplit; }
inline bool is_individual(Call call) { return call >= Call::kPlain && call <= Call::kAllSplit; }
inline bool is_shared(Call call) { return call >= Call::kShared; }
inline bool is_collective(Call call) {
  switch (call) {
    case Call::kAtAll:
    case Call::kIatAll:
    case Call::kAtAllSplit:
    case Call::kAll:
    case Call::kIall:
    case Call::kAllSplit:
    case Call::kOrdered:
    case Call::kOrderedSplit: return true;
    default: return false;
  }
}

inline const char* call_name(Call call) {
  static const char* names[kCalls] = {"at",     "i_at",     "at_all",  "i_at_all",     "at_all_split",
                                      "plain",  "i",        "all",     "i_all",        "all_split",
                                      "shared", "i_shared", "ordered", "ordered_split"};
  return names[static_cast<int>(call)];
}

/// Waits for `request` by Wait or by a Test loop; MPI_SUCCESS of both calls required.
inline int complete(int code, MPI_Request* request, MPI_Status* status, bool by_test) {
  if (code != MPI_SUCCESS) return code;
  if (!by_test) return MPI_Wait(request, status);
  for (int done = 0; !done;) {
    code = MPI_Test(request, &done, status);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

inline int write_by(Call call, MPI_File file, MPI_Offset offset, const void* buffer, int count, MPI_Datatype type,
                    MPI_Status* status, bool by_test = false) {
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  switch (call) {
    case Call::kAt: return MPI_File_write_at(file, offset, buffer, count, type, status);
    case Call::kIat:
      return complete(MPI_File_iwrite_at(file, offset, buffer, count, type, &request), &request, status, by_test);
    case Call::kAtAll: return MPI_File_write_at_all(file, offset, buffer, count, type, status);
    case Call::kIatAll:
      return complete(MPI_File_iwrite_at_all(file, offset, buffer, count, type, &request), &request, status, by_test);
    case Call::kAtAllSplit:
      code = MPI_File_write_at_all_begin(file, offset, buffer, count, type);
      return code != MPI_SUCCESS ? code : MPI_File_write_at_all_end(file, buffer, status);
    case Call::kPlain: return MPI_File_write(file, buffer, count, type, status);
    case Call::kI: return complete(MPI_File_iwrite(file, buffer, count, type, &request), &request, status, by_test);
    case Call::kAll: return MPI_File_write_all(file, buffer, count, type, status);
    case Call::kIall:
      return complete(MPI_File_iwrite_all(file, buffer, count, type, &request), &request, status, by_test);
    case Call::kAllSplit:
      code = MPI_File_write_all_begin(file, buffer, count, type);
      return code != MPI_SUCCESS ? code : MPI_File_write_all_end(file, buffer, status);
    case Call::kShared: return MPI_File_write_shared(file, buffer, count, type, status);
    case Call::kIshared:
      return complete(MPI_File_iwrite_shared(file, buffer, count, type, &request), &request, status, by_test);
    case Call::kOrdered: return MPI_File_write_ordered(file, buffer, count, type, status);
    case Call::kOrderedSplit:
      code = MPI_File_write_ordered_begin(file, buffer, count, type);
      return code != MPI_SUCCESS ? code : MPI_File_write_ordered_end(file, buffer, status);
  }
  return MPI_ERR_OTHER;
}

inline int read_by(Call call, MPI_File file, MPI_Offset offset, void* buffer, int count, MPI_Datatype type,
                   MPI_Status* status, bool by_test = false) {
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  switch (call) {
    case Call::kAt: return MPI_File_read_at(file, offset, buffer, count, type, status);
    case Call::kIat:
      return complete(MPI_File_iread_at(file, offset, buffer, count, type, &request), &request, status, by_test);
    case Call::kAtAll: return MPI_File_read_at_all(file, offset, buffer, count, type, status);
    case Call::kIatAll:
      return complete(MPI_File_iread_at_all(file, offset, buffer, count, type, &request), &request, status, by_test);
    case Call::kAtAllSplit:
      code = MPI_File_read_at_all_begin(file, offset, buffer, count, type);
      return code != MPI_SUCCESS ? code : MPI_File_read_at_all_end(file, buffer, status);
    case Call::kPlain: return MPI_File_read(file, buffer, count, type, status);
    case Call::kI: return complete(MPI_File_iread(file, buffer, count, type, &request), &request, status, by_test);
    case Call::kAll: return MPI_File_read_all(file, buffer, count, type, status);
    case Call::kIall:
      return complete(MPI_File_iread_all(file, buffer, count, type, &request), &request, status, by_test);
    case Call::kAllSplit:
      code = MPI_File_read_all_begin(file, buffer, count, type);
      return code != MPI_SUCCESS ? code : MPI_File_read_all_end(file, buffer, status);
    case Call::kShared: return MPI_File_read_shared(file, buffer, count, type, status);
    case Call::kIshared:
      return complete(MPI_File_iread_shared(file, buffer, count, type, &request), &request, status, by_test);
    case Call::kOrdered: return MPI_File_read_ordered(file, buffer, count, type, status);
    case Call::kOrderedSplit:
      code = MPI_File_read_ordered_begin(file, buffer, count, type);
      return code != MPI_SUCCESS ? code : MPI_File_read_ordered_end(file, buffer, status);
  }
  return MPI_ERR_OTHER;
}

/// Sync-barrier-sync: what one rank wrote before is visible to all ranks after (MPI-4.0 section 14.6.1). Collective.
inline void make_visible(MPI_File file, MPI_Comm comm) {
  CHECK_OK(MPI_File_sync(file));
  MPI_Barrier(comm);
  CHECK_OK(MPI_File_sync(file));
}

}  // namespace suiro_test
