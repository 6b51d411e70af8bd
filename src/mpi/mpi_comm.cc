#include "mpi/mpi_comm.h"

#include <algorithm>
#include <climits>
#include <string>

#include "base/message.h"

namespace suiro::mpi {

Result<std::unique_ptr<MpiComm>> MpiComm::From(MPI_Comm users) {
  int rank = 0;
  int size = 0;
  MPI_Comm own = MPI_COMM_NULL;
  if (PMPI_Comm_rank(users, &rank) != MPI_SUCCESS || PMPI_Comm_size(users, &size) != MPI_SUCCESS ||
      PMPI_Comm_split(users, 0, rank, &own) != MPI_SUCCESS)
    return Status(ErrorKind::kOther, "cannot make a communicator for the file");
  PMPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  return std::unique_ptr<MpiComm>(new MpiComm(own, rank, size));
}

MpiComm::~MpiComm() { PMPI_Comm_free(&comm_); }

void MpiComm::must(int code, const char* what) const {
  if (code == MPI_SUCCESS) return;
  // A collective call of the host library failed: a rank is gone. Returning would leave the others waiting.
  log_error(std::string("MPI ") + what + " among the ranks of a file failed; ending the job");
  PMPI_Abort(comm_, 1);
}

void MpiComm::barrier() { must(PMPI_Barrier(comm_), "barrier"); }

void MpiComm::broadcast(void* data, size_t bytes, int root) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    size_t part = std::min<size_t>(bytes, INT_MAX);
    must(PMPI_Bcast(at, static_cast<int>(part), MPI_BYTE, root, comm_), "broadcast");
    at += part;
    bytes -= part;
  }
}

void MpiComm::max(int64_t* values, int count) {
  if (size_ > 1) must(PMPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_MAX, comm_), "reduction");
}

void MpiComm::min(int64_t* values, int count) {
  if (size_ > 1) must(PMPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_MIN, comm_), "reduction");
}

int64_t MpiComm::exclusive_sum(int64_t value) {
  int64_t before = 0;
  if (size_ > 1) must(PMPI_Exscan(&value, &before, 1, MPI_INT64_T, MPI_SUM, comm_), "prefix sum");
  return rank_ == 0 ? 0 : before;  // MPI leaves rank 0's result undefined
}

}  // namespace suiro::mpi
