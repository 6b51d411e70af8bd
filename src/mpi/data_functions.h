// Moving data: one body for all 32 read and write functions of MPI-4.0 section 14.4, told apart by an Access.
#pragma once

#include <mpi.h>

#include "mpi/routed_file.h"

namespace suiro::mpi {

/// `buffer` is only read when writing. `count` may be negative by mistake: that is reported like every other error.
int blocking(RoutedFile& file, Access access, MPI_Offset offset, void* buffer, int64_t count, MPI_Datatype type,
             MPI_Status* status);
int nonblocking(RoutedFile& file, Access access, MPI_Offset offset, void* buffer, int64_t count, MPI_Datatype type,
                MPI_Request* request);
/// A split collective does its work in begin; end only hands the status over.
int split_begin(RoutedFile& file, Access access, MPI_Offset offset, void* buffer, int64_t count, MPI_Datatype type);
int split_end(RoutedFile& file, Access access, MPI_Status* status);

}  // namespace suiro::mpi
