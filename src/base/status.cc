#include "base/status.h"

#include <cerrno>
#include <cstring>

namespace suiro {

Status::Status(ErrorKind kind, std::string message, int system_errno) {
  assert(kind != ErrorKind::kOk);
  detail_ = std::make_unique<Detail>(Detail{kind, system_errno, std::move(message)});
}

static ErrorKind kind_of_errno(int system_errno) {
  switch (system_errno) {
    case ENOENT: return ErrorKind::kNoSuchFile;
    case EEXIST: return ErrorKind::kFileExists;
    case EBUSY:
    case ETXTBSY: return ErrorKind::kFileInUse;
    case ENAMETOOLONG:
    case EISDIR:
    case ENOTDIR:
    case ELOOP:
    case ENXIO: return ErrorKind::kBadFile;
    case EACCES:
    case EPERM: return ErrorKind::kAccess;
    case EROFS: return ErrorKind::kReadOnly;
    case ENOSPC:
    case EFBIG: return ErrorKind::kNoSpace;
    case EDQUOT: return ErrorKind::kQuota;
    case ENOMEM: return ErrorKind::kNoMemory;
    case EINVAL: return ErrorKind::kArgument;
    case ENOTSUP: return ErrorKind::kUnsupportedOperation;
    default: return ErrorKind::kIo;
  }
}

Status Status::FromErrno(int system_errno, std::string_view what) {
  std::string message(what);
  message += ": ";
  message += std::strerror(system_errno);
  return Status(kind_of_errno(system_errno), std::move(message), system_errno);
}

std::string_view kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kOk: return "ok";
    case ErrorKind::kNoSuchFile: return "no such file";
    case ErrorKind::kFileExists: return "file exists";
    case ErrorKind::kFileInUse: return "file in use";
    case ErrorKind::kBadFile: return "bad file";
    case ErrorKind::kAccess: return "access denied";
    case ErrorKind::kReadOnly: return "read only";
    case ErrorKind::kNoSpace: return "no space";
    case ErrorKind::kQuota: return "quota exceeded";
    case ErrorKind::kIo: return "input/output error";
    case ErrorKind::kNoMemory: return "no memory";
    case ErrorKind::kAmode: return "bad access mode";
    case ErrorKind::kNotSame: return "arguments differ between ranks";
    case ErrorKind::kArgument: return "bad argument";
    case ErrorKind::kCount: return "bad count";
    case ErrorKind::kType: return "bad datatype";
    case ErrorKind::kInfo: return "bad info";
    case ErrorKind::kInfoValue: return "bad info value";
    case ErrorKind::kUnsupportedDatarep: return "unsupported data representation";
    case ErrorKind::kUnsupportedOperation: return "unsupported operation";
    case ErrorKind::kDupDatarep: return "data representation exists";
    case ErrorKind::kConversion: return "conversion failed";
    case ErrorKind::kOther: return "error";
  }
  return "error";
}

}  // namespace suiro
