// Comm over MPI: the group of ranks of one open file.
#pragma once

#include <mpi.h>

#include "base/comm.h"

namespace suiro::mpi {

class MpiComm final : public Comm {
 public:
  /// Collective over `users`. Makes a communicator of its own from it (by a split, so that no attribute callbacks of the
  /// program run), with errors returned; the program may free its communicator while the file is open.
  static Result<std::unique_ptr<MpiComm>> From(MPI_Comm users);
  ~MpiComm() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void barrier() override;
  void broadcast(void* data, size_t bytes, int root) override;
  void max(int64_t* values, int count) override;
  void min(int64_t* values, int count) override;
  int64_t exclusive_sum(int64_t value) override;

  MPI_Comm handle() const { return comm_; }

 private:
  MpiComm(MPI_Comm comm, int rank, int size) : comm_(comm), rank_(rank), size_(size) {}
  void must(int code, const char* what) const;
  MPI_Comm comm_;
  int rank_;
  int size_;
};

}  // namespace suiro::mpi
