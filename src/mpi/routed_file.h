// The MPI side of an open file that Suiro serves: what OpenFile, which knows no MPI, cannot hold.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "file/open_file.h"
#include "mpi/datarep.h"
#include "mpi/info.h"
#include "mpi/mpi_comm.h"

namespace suiro::mpi {

/// The view as the program gave it, to be handed back by MPI_File_get_view.
struct ViewArguments {
  MPI_Offset displacement = 0;
  MPI_Datatype etype = MPI_BYTE;
  MPI_Datatype filetype = MPI_BYTE;
  std::string datarep = "native";
};

/// What a data access function does, as far as its name says. The collective forms need no more than the independent
/// ones, but for the ordered ones: each rank moves its own bytes.
struct Access {
  bool writing = false;
  PointerKind pointer = PointerKind::kExplicit;
  friend bool operator==(const Access&, const Access&) = default;
};

/// A split collective between its begin and its end (MPI-4.0 section 14.4.5).
struct SplitOperation {
  Access access;  // the end must match the begin
  int64_t bytes = 0;
};

struct RoutedFile {
  MPI_File identity = MPI_FILE_NULL;
  MPI_Comm comm = MPI_COMM_NULL;  // owned by file
  std::unique_ptr<OpenFile> file;
  int amode = 0;
  Pairs hints;  // as the program gave them, ours and others'

  std::atomic<const Representation*> representation{&native_representation()};  // of the view

  std::mutex mutex;  // guards the next two
  ViewArguments view;
  std::optional<SplitOperation> split;

  ~RoutedFile();
};

/// Frees a datatype we duplicated; predefined ones stay.
void free_type(MPI_Datatype type);

}  // namespace suiro::mpi
