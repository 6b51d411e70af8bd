#include "mpi/errors.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "base/message.h"
#include "mpi/native.h"

namespace suiro::mpi {

int error_class(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kOk: return MPI_SUCCESS;
    case ErrorKind::kNoSuchFile: return MPI_ERR_NO_SUCH_FILE;
    case ErrorKind::kFileExists: return MPI_ERR_FILE_EXISTS;
    case ErrorKind::kFileInUse: return MPI_ERR_FILE_IN_USE;
    case ErrorKind::kBadFile: return MPI_ERR_BAD_FILE;
    case ErrorKind::kAccess: return MPI_ERR_ACCESS;
    case ErrorKind::kReadOnly: return MPI_ERR_READ_ONLY;
    case ErrorKind::kNoSpace: return MPI_ERR_NO_SPACE;
    case ErrorKind::kQuota: return MPI_ERR_QUOTA;
    case ErrorKind::kIo: return MPI_ERR_IO;
    case ErrorKind::kNoMemory: return MPI_ERR_NO_MEM;
    case ErrorKind::kAmode: return MPI_ERR_AMODE;
    case ErrorKind::kNotSame: return MPI_ERR_NOT_SAME;
    case ErrorKind::kArgument: return MPI_ERR_ARG;
    case ErrorKind::kCount: return MPI_ERR_COUNT;
    case ErrorKind::kType: return MPI_ERR_TYPE;
    case ErrorKind::kInfo: return MPI_ERR_INFO;
    case ErrorKind::kInfoValue: return MPI_ERR_INFO_VALUE;
    case ErrorKind::kUnsupportedDatarep: return MPI_ERR_UNSUPPORTED_DATAREP;
    case ErrorKind::kUnsupportedOperation: return MPI_ERR_UNSUPPORTED_OPERATION;
    case ErrorKind::kDupDatarep: return MPI_ERR_DUP_DATAREP;
    case ErrorKind::kConversion: return MPI_ERR_CONVERSION;
    case ErrorKind::kOther: return MPI_ERR_OTHER;
  }
  return MPI_ERR_OTHER;
}

namespace {

/// Programs probe for files by opening or deleting them; that is no news to the user.
bool is_a_probe(const Status& status) {
  return status.kind() == ErrorKind::kNoSuchFile || status.kind() == ErrorKind::kFileExists;
}

}  // namespace

int raise(MPI_File identity, const Status& status) {
  message(is_a_probe(status) ? MessageLevel::kInfo : MessageLevel::kError, status.message());
  int code = error_class(status.kind());
  PMPI_File_call_errhandler(identity, code);
  return code;
}

Result<MPI_File> open_identity() {
  const char* directory = std::getenv("TMPDIR");
  std::string path;
  int descriptor = -1;
  for (std::string candidate : {std::string("/dev/shm"), std::string(directory ? directory : "/tmp")}) {
    path = candidate + "/suiro-handle-XXXXXX";
    descriptor = ::mkostemp(path.data(), O_CLOEXEC);
    if (descriptor >= 0) break;
  }
  if (descriptor < 0) return Status(ErrorKind::kOther, "cannot make a small file in /dev/shm or TMPDIR");
  ::close(descriptor);
  NativeSection section;
  MPI_File handle = MPI_FILE_NULL;
  int code = native().MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &handle);
  ::unlink(path.c_str());
  if (code != MPI_SUCCESS)
    return Status(ErrorKind::kOther, "the MPI library cannot open " + path + ", which serves as the identity of a handle");
  return handle;
}

int raise_without_file(const Status& status) {
  // MPI_FILE_NULL's handler is inherited by the next open. Calling it on MPI_FILE_NULL itself aborts in Open MPI.
  auto identity = open_identity();
  if (!identity.ok()) return error_class(status.kind());
  int code = raise(*identity, status);
  NativeSection section;
  native().MPI_File_close(&*identity);
  return code;
}

}  // namespace suiro::mpi
