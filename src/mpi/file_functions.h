// Opening, closing and everything about a file that moves no data: the bodies behind the MPI names. Bodies that take a
// RoutedFile get it looked up; the others decide themselves whether a call is ours.
#pragma once

#include <mpi.h>

#include "mpi/routed_file.h"

namespace suiro::mpi {

int file_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* handle);
int file_close(MPI_File* handle);
int file_delete(const char* filename, MPI_Info info);

int set_size(RoutedFile& file, MPI_Offset size);
int preallocate(RoutedFile& file, MPI_Offset size);
int get_size(RoutedFile& file, MPI_Offset* size);
int get_group(RoutedFile& file, MPI_Group* group);
int get_amode(RoutedFile& file, int* amode);
int set_info(RoutedFile& file, MPI_Info info);
int get_info(RoutedFile& file, MPI_Info* info);
int set_view(RoutedFile& file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep,
             MPI_Info info);
int get_view(RoutedFile& file, MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep);
int seek(RoutedFile& file, MPI_Offset offset, int whence);
int get_position(RoutedFile& file, MPI_Offset* offset);
int get_byte_offset(RoutedFile& file, MPI_Offset offset, MPI_Offset* displacement);
int seek_shared(RoutedFile& file, MPI_Offset offset, int whence);
int get_position_shared(RoutedFile& file, MPI_Offset* offset);
int set_atomicity(RoutedFile& file, int flag);
int get_atomicity(RoutedFile& file, int* flag);
int sync(RoutedFile& file);
/// MPI_Aint in MPI_File_get_type_extent, MPI_Count in its large-count form.
Result<int64_t> type_extent(RoutedFile& file, MPI_Datatype type);

}  // namespace suiro::mpi
