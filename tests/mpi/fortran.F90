! One Fortran program for the three bindings: compiled with -DBINDING_MPIF_H, -DBINDING_MPI or -DBINDING_MPI_F08.
! Each MPI calls different C symbols underneath; all must reach Suiro. The file is compared by plain stream reads.
#if defined(BINDING_MPI_F08)
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif

module checks
  implicit none
  integer :: passed = 0, failed = 0, rank = -1
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (ok) then
      passed = passed + 1
    else
      failed = failed + 1
      write (0, '(a,i0,3a)') '[rank ', rank, '] FAILED ', what
    end if
  end subroutine check
end module checks

program fortran_bindings
  use checks
#if defined(BINDING_MPI_F08)
  use mpi_f08
#elif defined(BINDING_MPI)
  use mpi
#endif
  implicit none
#if defined(BINDING_MPIF_H)
  include 'mpif.h'
#endif
  integer, parameter :: n = 10
  integer :: ranks, ierr, i, r, moved, amode, totals(2), mine(2), unit, there, hint_length
  logical :: flag
  integer :: values(n), back(n), one(1)
  HANDLE(MPI_File) :: file, failing
  HANDLE(MPI_Datatype) :: filetype, got_etype, got_filetype
  HANDLE(MPI_Info) :: info
  HANDLE(MPI_Request) :: request
  HANDLE(MPI_Errhandler) :: handler
#if defined(BINDING_MPI_F08)
  type(MPI_Status) :: status
#else
  integer :: status(MPI_STATUS_SIZE)
#endif
  integer(kind=MPI_OFFSET_KIND) :: offset, where
  character(len=512) :: directory, path, wanted
  character(len=MPI_MAX_INFO_VAL) :: served
  character(len=MPI_MAX_DATAREP_STRING) :: datarep
  character(len=8) :: native

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_environment_variable('SUIRO_TEST_DIR', directory)
  call get_environment_variable('SUIRO_TEST_PRESET', wanted)
  call get_environment_variable('SUIRO_TEST_NATIVE', native)
  if (wanted == '') wanted = 'direct'
  path = trim(directory)//'/fortran'

  ! opening what is not there: an error code, no abort
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_RDONLY, MPI_INFO_NULL, failing, ierr)
  call check(ierr /= MPI_SUCCESS, 'opening a missing file fails')
  call MPI_Error_class(ierr, there, i)
  call check(there == MPI_ERR_NO_SUCH_FILE, 'with MPI_ERR_NO_SUCH_FILE')

  call MPI_File_open(MPI_COMM_WORLD, trim(path)//'   ', ior(MPI_MODE_RDWR, MPI_MODE_CREATE), MPI_INFO_NULL, file, ierr)
  call check(ierr == MPI_SUCCESS, 'open, trailing blanks are not part of the name')
  if (native /= '1') then
    call MPI_File_get_info(file, info, ierr)
    call check(ierr == MPI_SUCCESS, 'get_info')
    served = ''
    hint_length = MPI_MAX_INFO_VAL
    call MPI_Info_get(info, 'suiro_preset', hint_length - 1, served, flag, ierr)
    call check(flag .and. served == wanted, 'Suiro serves the file: '//trim(served))
    call MPI_Info_free(info, ierr)
  end if
  call MPI_File_get_amode(file, amode, ierr)
  call check(amode == ior(MPI_MODE_RDWR, MPI_MODE_CREATE), 'amode')

  ! every ranks-th integer is mine
  call MPI_Type_vector(n, 1, ranks, MPI_INTEGER, filetype, ierr)
  call MPI_Type_commit(filetype, ierr)
  offset = 4*rank
  call MPI_File_set_view(file, offset, MPI_INTEGER, filetype, 'native', MPI_INFO_NULL, ierr)
  call check(ierr == MPI_SUCCESS, 'set_view')
  call MPI_Type_free(filetype, ierr)
  do i = 1, n
    values(i) = 1000*rank + i
  end do
  ! the first half by write_at_all, two by write_at, the rest by the individual pointer
  call MPI_File_write_at_all(file, 0_MPI_OFFSET_KIND, values, 5, MPI_INTEGER, status, ierr)
  call check(ierr == MPI_SUCCESS, 'write_at_all')
  call MPI_Get_count(status, MPI_INTEGER, moved, ierr)
  call check(moved == 5, 'count of write_at_all')
  offset = 5
  call MPI_File_write_at(file, offset, values(6:7), 2, MPI_INTEGER, status, ierr)
  call check(ierr == MPI_SUCCESS, 'write_at')
  offset = 7
  call MPI_File_seek(file, offset, MPI_SEEK_SET, ierr)
  call MPI_File_write_all(file, values(8:8), 1, MPI_INTEGER, status, ierr)
  call check(ierr == MPI_SUCCESS, 'write_all')
  call MPI_File_write(file, values(9:9), 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call check(ierr == MPI_SUCCESS, 'write')
  call MPI_File_iwrite(file, values(10:10), 1, MPI_INTEGER, request, ierr)
  call MPI_Wait(request, status, ierr)
  call check(ierr == MPI_SUCCESS, 'iwrite and wait')
  call MPI_File_get_position(file, where, ierr)
  call check(where == n, 'position')
  call MPI_File_get_byte_offset(file, 3_MPI_OFFSET_KIND, where, ierr)
  call check(where == 4*(3*ranks + rank), 'byte offset')

  call MPI_File_sync(file, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_File_sync(file, ierr)
  back = -1
  call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, back, n, MPI_INTEGER, status, ierr)
  call check(ierr == MPI_SUCCESS .and. all(back == values), 'read_at gives back what was written')
  back = -1
  call MPI_File_read_at_all_begin(file, 0_MPI_OFFSET_KIND, back, n, MPI_INTEGER, ierr)
  call MPI_File_read_at_all_end(file, back, status, ierr)
  call check(ierr == MPI_SUCCESS .and. all(back == values), 'split collective read')

  call MPI_File_get_view(file, offset, got_etype, got_filetype, datarep, ierr)
  call check(offset == 4*rank .and. datarep == 'native', 'get_view')
  call MPI_Type_size(got_filetype, there, ierr)
  call check(there == 4*n, 'size of the filetype')

  ! the shared pointer: behind the array, in rank order
  offset = 4*n*ranks
  call MPI_File_set_view(file, offset, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
  one = 7000 + rank
  call MPI_File_write_ordered(file, one, 1, MPI_INTEGER, status, ierr)
  call check(ierr == MPI_SUCCESS, 'write_ordered')
  one = 9000
  call MPI_File_write_shared(file, one, 1, MPI_INTEGER, status, ierr)
  call check(ierr == MPI_SUCCESS, 'write_shared')
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_File_get_position_shared(file, where, ierr)
  call check(where == 2*ranks, 'shared position')

  ! errors return, with the class of the standard
  call MPI_File_get_errhandler(file, handler, ierr)
  call check(handler == MPI_ERRORS_RETURN, 'default error handler')
  offset = -1
  call MPI_File_seek(file, offset, MPI_SEEK_SET, ierr)
  call MPI_Error_class(ierr, there, i)
  call check(there == MPI_ERR_ARG, 'negative seek')
  call MPI_File_get_size(file, where, ierr)
  call check(where == 4*(n*ranks + 2*ranks), 'size')
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_File_close(file, ierr)
  call check(ierr == MPI_SUCCESS .and. file == MPI_FILE_NULL, 'close')
  call MPI_Barrier(MPI_COMM_WORLD, ierr)

  if (rank == 0) then
    open (newunit=unit, file=trim(path), access='stream', form='unformatted', action='read', status='old')
    do i = 1, n
      do r = 0, ranks - 1
        read (unit) there
        call check(there == 1000*r + i, 'array in the file')
      end do
    end do
    do r = 0, ranks - 1
      read (unit) there
      call check(there == 7000 + r, 'ordered records')
    end do
    do r = 0, ranks - 1
      read (unit) there
      call check(there == 9000, 'shared records')
    end do
    close (unit)
    call MPI_File_delete(trim(path), MPI_INFO_NULL, ierr)
    call check(ierr == MPI_SUCCESS, 'delete')
    inquire (file=trim(path), exist=flag)
    call check(.not. flag, 'deleted')
  end if

  mine = [passed, failed]
  call MPI_Allreduce(mine, totals, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) write (*, '(i0,a,i0,a)') totals(1), ' passed, ', totals(2), ' failed'
  call MPI_Finalize(ierr)
  if (totals(2) > 0 .or. totals(1) == 0) error stop 1
end program fortran_bindings
