! multipart: an implicit diffusion solver on a diagonal multi-partition, an ordinary MPI program (mpi_f08).
!
! Five quantities live on each point of an nx * ny * nz grid and diffuse with zero walls. A step is approximately
! factored, as in the NAS benchmark BT: a right-hand side from the neighbouring points, then tridiagonal solves along
! x, y and z, then the update:
!     (1 + a Ax)(1 + a Ay)(1 + a Az) d = -2a (Ax + Ay + Az) u,   u <- u + d,   A = (-1 2 -1).
!
! Decomposition, for any number of ranks P: the (y,z) plane is cut into P x P cells and rank r owns the P cells
! (mod(r + k, P), k) for k = 0..P-1: a diagonal. Every sweep along y or z finds one cell of each rank at each of its P
! stages, so all ranks always work; and the lines of one rank are scattered over the whole file: the point here.
!
! File: the dumps one after the other, each u(5, nx, ny, nz) of doubles in Fortran order, no header.
!   simple  every run (a line along x of one cell, or --piece points of it) is one independent write_at
!   full    one struct file view over all cells of the rank and one collective write_at_all per dump
!
! The initial field is an eigenvector of A for each quantity, so the exact result of every step is known; besides, the
! arithmetic of a point does not depend on P, so that the file is the same on any number of ranks.

module mesh
  use, intrinsic :: iso_fortran_env, only: real64, int64, error_unit
  use mpi_f08
  implicit none
  integer, parameter :: quantities = 5

  type :: settings
    integer :: nx = 24, ny = 24, nz = 24
    integer :: steps = 20
    integer :: dump_every = 5
    integer :: piece = 0                     ! points per write in simple mode; 0 = a whole line
    character(len=16) :: mode = 'simple'
    character(len=:), allocatable :: output
  end type

  ! The diagonal of cells that this rank owns. Cell c has z index c and y index cell_y(c), all counted from 0.
  type :: diagonal
    integer :: rank, ranks, next, previous
    integer :: nx, ny, nz
    integer, allocatable :: cell_y(:)
    integer, allocatable :: y_first(:), z_first(:), y_size(:), z_size(:)  ! of cell c, in points, first from 0
    integer :: y_size_max, z_size_max
  end type

contains

  pure integer function cut(extent, parts, part)
    integer, intent(in) :: extent, parts, part
    cut = int(int(extent, int64) * part / parts)
  end function

  subroutine make_diagonal(d, s)
    type(diagonal), intent(out) :: d
    type(settings), intent(in) :: s
    integer :: c, p
    call MPI_Comm_rank(MPI_COMM_WORLD, d%rank)
    call MPI_Comm_size(MPI_COMM_WORLD, d%ranks)
    p = d%ranks
    d%next = mod(d%rank + 1, p)
    d%previous = mod(d%rank + p - 1, p)
    d%nx = s%nx; d%ny = s%ny; d%nz = s%nz
    allocate (d%cell_y(0:p - 1), d%y_first(0:p - 1), d%z_first(0:p - 1), d%y_size(0:p - 1), d%z_size(0:p - 1))
    do c = 0, p - 1
      d%cell_y(c) = mod(d%rank + c, p)
      d%y_first(c) = cut(s%ny, p, d%cell_y(c))
      d%y_size(c) = cut(s%ny, p, d%cell_y(c) + 1) - d%y_first(c)
      d%z_first(c) = cut(s%nz, p, c)
      d%z_size(c) = cut(s%nz, p, c + 1) - d%z_first(c)
    end do
    d%y_size_max = maxval(d%y_size)
    d%z_size_max = maxval(d%z_size)
  end subroutine

  subroutine fail(what)
    character(len=*), intent(in) :: what
    integer :: rank
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    write (error_unit, '(a,i0,2a)') 'multipart: rank ', rank, ': ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end module

module solver
  use mesh
  implicit none
  private
  public :: field, make_field, start_field, step_field, exact_error

  type :: field
    ! (quantity, x, y, z, cell) with one ghost point around each cell; the ghosts at the walls stay zero
    real(real64), allocatable :: u(:, :, :, :, :), d(:, :, :, :, :)
    real(real64) :: a(quantities)
    real(real64), allocatable :: pivot_x(:, :), pivot_y(:, :), pivot_z(:, :)   ! (quantity, global index from 1)
    real(real64), allocatable :: wave_x(:, :), wave_y(:, :), wave_z(:, :)
    real(real64) :: growth(quantities)                                         ! exact factor of one step
  end type

contains

  ! Pivots of the elimination of (-a, 1 + 2a, -a): they depend on the position alone, not on the data.
  pure function pivots(a, n) result(pivot)
    real(real64), intent(in) :: a(quantities)
    integer, intent(in) :: n
    real(real64) :: pivot(quantities, n)
    integer :: i
    pivot(:, 1) = 1 / (1 + 2 * a)
    do i = 2, n
      pivot(:, i) = 1 / ((1 + 2 * a) - a * a * pivot(:, i - 1))
    end do
  end function

  pure function waves(modes, n) result(wave)
    integer, intent(in) :: modes(quantities), n
    real(real64) :: wave(quantities, n)
    real(real64), parameter :: pi = acos(-1.0_real64)
    integer :: i
    do i = 1, n
      wave(:, i) = sin(pi * modes * i / (n + 1))
    end do
  end function

  pure function eigenvalues(modes, n) result(lambda)
    integer, intent(in) :: modes(quantities), n
    real(real64) :: lambda(quantities)
    real(real64), parameter :: pi = acos(-1.0_real64)
    lambda = 4 * sin(pi * modes / (2.0_real64 * (n + 1)))**2
  end function

  subroutine make_field(f, d)
    type(field), intent(out) :: f
    type(diagonal), intent(in) :: d
    integer, parameter :: modes(quantities, 3) = reshape([1, 2, 1, 1, 3, 1, 1, 2, 1, 2, 1, 1, 1, 3, 1], [quantities, 3])
    real(real64), dimension(quantities) :: lx, ly, lz
    integer :: m
    allocate (f%u(quantities, 0:d%nx + 1, 0:d%y_size_max + 1, 0:d%z_size_max + 1, 0:d%ranks - 1), source=0.0_real64)
    allocate (f%d(quantities, 0:d%nx + 1, 0:d%y_size_max + 1, 0:d%z_size_max + 1, 0:d%ranks - 1), source=0.0_real64)
    f%a = [(0.3_real64 + 0.1_real64 * m, m=1, quantities)]
    f%pivot_x = pivots(f%a, d%nx)
    f%pivot_y = pivots(f%a, d%ny)
    f%pivot_z = pivots(f%a, d%nz)
    f%wave_x = waves(modes(:, 1), d%nx)
    f%wave_y = waves(modes(:, 2), d%ny)
    f%wave_z = waves(modes(:, 3), d%nz)
    lx = eigenvalues(modes(:, 1), d%nx)
    ly = eigenvalues(modes(:, 2), d%ny)
    lz = eigenvalues(modes(:, 3), d%nz)
    f%growth = 1 - 2 * f%a * (lx + ly + lz) / ((1 + f%a * lx) * (1 + f%a * ly) * (1 + f%a * lz))
  end subroutine

  subroutine start_field(f, d)
    type(field), intent(inout) :: f
    type(diagonal), intent(in) :: d
    integer :: c, i, j, k
    do c = 0, d%ranks - 1
      do k = 1, d%z_size(c)
        do j = 1, d%y_size(c)
          do i = 1, d%nx
            f%u(:, i, j, k, c) = f%wave_x(:, i) * f%wave_y(:, d%y_first(c) + j) * f%wave_z(:, d%z_first(c) + k)
          end do
        end do
      end do
    end do
  end subroutine

  ! Largest difference between values and the exact field after the given number of steps, on this rank.
  function exact_error(f, d, values, steps) result(worst)
    type(field), intent(in) :: f
    type(diagonal), intent(in) :: d
    real(real64), intent(in) :: values(:, 0:, 0:, 0:, 0:)
    integer, intent(in) :: steps
    real(real64) :: worst
    real(real64) :: off(quantities)
    integer :: c, i, j, k
    worst = 0
    do c = 0, d%ranks - 1
      do k = 1, d%z_size(c)
        do j = 1, d%y_size(c)
          do i = 1, d%nx
            off = abs(values(:, i, j, k, c) - f%growth**steps * f%wave_x(:, i) * f%wave_y(:, d%y_first(c) + j) &
              * f%wave_z(:, d%z_first(c) + k))
            worst = max(worst, merge(maxval(off), huge(worst), all(off <= huge(worst))))   ! not-a-number is worst
          end do
        end do
      end do
    end do
  end function

  subroutine step_field(f, d)
    type(field), intent(inout) :: f
    type(diagonal), intent(in) :: d
    call copy_faces(f%u, d)
    call right_hand_side(f, d)
    call solve_x(f, d)
    call solve_y(f, d)
    call solve_z(f, d)
    f%u = f%u + f%d     ! the ghosts of d are zero
  end subroutine

  ! Fills the ghost faces of all cells: one message per direction. Both sides go through their cells in the order of
  ! the z index, so the faces meet in the right order. The next rank has the neighbour in +y, the previous in +z.
  subroutine copy_faces(u, d)
    real(real64), intent(inout) :: u(:, 0:, 0:, 0:, 0:)
    type(diagonal), intent(in) :: d
    real(real64), allocatable :: out(:), in(:)
    integer :: c, nx, last, largest
    nx = d%nx
    last = d%ranks - 1
    largest = quantities * nx * max(sum(d%z_size), sum(d%y_size))
    allocate (out(largest), in(largest))
    block
      integer :: sent, got, ny, nz
      sent = 0; got = 0                                                    ! towards +y
      do c = 0, last
        if (d%cell_y(c) < last) call pack_face(u(:, 1:nx, d%y_size(c), 1:d%z_size(c), c), out, sent)
      end do
      call swap(d%next, d%previous, 1)
      do c = 0, last
        nz = d%z_size(c)
        if (d%cell_y(c) > 0) call unpack_face(u(:, 1:nx, 0, 1:nz, c), in, got)
      end do
      sent = 0; got = 0                                                    ! towards -y
      do c = 0, last
        if (d%cell_y(c) > 0) call pack_face(u(:, 1:nx, 1, 1:d%z_size(c), c), out, sent)
      end do
      call swap(d%previous, d%next, 2)
      do c = 0, last
        nz = d%z_size(c)
        if (d%cell_y(c) < last) call unpack_face(u(:, 1:nx, d%y_size(c) + 1, 1:nz, c), in, got)
      end do
      sent = 0; got = 0                                                    ! towards +z
      do c = 0, last - 1
        call pack_face(u(:, 1:nx, 1:d%y_size(c), d%z_size(c), c), out, sent)
      end do
      call swap(d%previous, d%next, 3)
      do c = 1, last
        ny = d%y_size(c)
        call unpack_face(u(:, 1:nx, 1:ny, 0, c), in, got)
      end do
      sent = 0; got = 0                                                    ! towards -z
      do c = 1, last
        call pack_face(u(:, 1:nx, 1:d%y_size(c), 1, c), out, sent)
      end do
      call swap(d%next, d%previous, 4)
      do c = 0, last - 1
        ny = d%y_size(c)
        call unpack_face(u(:, 1:nx, 1:ny, d%z_size(c) + 1, c), in, got)
      end do
    end block
  contains
    subroutine swap(destination, source, tag)
      integer, intent(in) :: destination, source, tag
      integer :: length
      length = size(out)
      call MPI_Sendrecv(out, length, MPI_DOUBLE_PRECISION, destination, tag, in, length, MPI_DOUBLE_PRECISION, source, &
                        tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    end subroutine
  end subroutine

  subroutine pack_face(face, buffer, used)
    real(real64), intent(in) :: face(:, :, :)
    real(real64), intent(inout) :: buffer(:)
    integer, intent(inout) :: used
    buffer(used + 1:used + size(face)) = reshape(face, [size(face)])
    used = used + size(face)
  end subroutine

  subroutine unpack_face(face, buffer, used)
    real(real64), intent(inout) :: face(:, :, :)
    real(real64), intent(in) :: buffer(:)
    integer, intent(inout) :: used
    face = reshape(buffer(used + 1:used + size(face)), shape(face))
    used = used + size(face)
  end subroutine

  subroutine right_hand_side(f, d)
    type(field), intent(inout) :: f
    type(diagonal), intent(in) :: d
    integer :: c, i, j, k
    do c = 0, d%ranks - 1
      do k = 1, d%z_size(c)
        do j = 1, d%y_size(c)
          do i = 1, d%nx
            f%d(:, i, j, k, c) = 2 * f%a * ((f%u(:, i - 1, j, k, c) + f%u(:, i + 1, j, k, c)) &
              + (f%u(:, i, j - 1, k, c) + f%u(:, i, j + 1, k, c)) + (f%u(:, i, j, k - 1, c) + f%u(:, i, j, k + 1, c)) &
              - 6 * f%u(:, i, j, k, c))
          end do
        end do
      end do
    end do
  end subroutine

  subroutine solve_x(f, d)
    type(field), intent(inout) :: f
    type(diagonal), intent(in) :: d
    integer :: c, i, j, k
    do c = 0, d%ranks - 1
      do k = 1, d%z_size(c)
        do j = 1, d%y_size(c)
          f%d(:, 1, j, k, c) = f%d(:, 1, j, k, c) * f%pivot_x(:, 1)
          do i = 2, d%nx
            f%d(:, i, j, k, c) = (f%d(:, i, j, k, c) + f%a * f%d(:, i - 1, j, k, c)) * f%pivot_x(:, i)
          end do
          do i = d%nx - 1, 1, -1
            f%d(:, i, j, k, c) = f%d(:, i, j, k, c) + f%a * f%pivot_x(:, i) * f%d(:, i + 1, j, k, c)
          end do
        end do
      end do
    end do
  end subroutine

  ! The sweeps along y and z: P stages, one cell per stage, whose last plane goes to the owner of the next cell. The
  ! plane received lies in the ghosts of d for the duration of the stage.
  subroutine solve_y(f, d)
    type(field), intent(inout) :: f
    type(diagonal), intent(in) :: d
    integer :: stage, c, other, j, k, g, n
    do stage = 0, d%ranks - 1
      c = mod(stage - d%rank + d%ranks, d%ranks)
      n = d%y_size(c)
      do k = 1, d%z_size(c)
        do j = 1, n
          g = d%y_first(c) + j
          call eliminate(f%d(:, 1:d%nx, j, k, c), f%d(:, 1:d%nx, j - 1, k, c), f%a, f%pivot_y(:, g))
        end do
      end do
      f%d(:, :, 0, :, c) = 0
      if (stage == d%ranks - 1) exit
      other = mod(c + 1, d%ranks)
      call pass(f%d(:, 1:d%nx, n, 1:d%z_size(c), c), f%d(:, 1:d%nx, 0, 1:d%z_size(other), other), d%next, d%previous)
    end do
    do stage = d%ranks - 1, 0, -1
      c = mod(stage - d%rank + d%ranks, d%ranks)
      n = d%y_size(c)
      do k = 1, d%z_size(c)
        do j = n, 1, -1
          g = d%y_first(c) + j
          if (g < d%ny) call substitute(f%d(:, 1:d%nx, j, k, c), f%d(:, 1:d%nx, j + 1, k, c), f%a, f%pivot_y(:, g))
        end do
      end do
      f%d(:, :, n + 1, :, c) = 0
      if (stage == 0) exit
      other = mod(c - 1 + d%ranks, d%ranks)
      call pass(f%d(:, 1:d%nx, 1, 1:d%z_size(c), c), &
                f%d(:, 1:d%nx, d%y_size(other) + 1, 1:d%z_size(other), other), d%previous, d%next)
    end do
  end subroutine

  subroutine solve_z(f, d)
    type(field), intent(inout) :: f
    type(diagonal), intent(in) :: d
    integer :: c, j, k, g, n
    do c = 0, d%ranks - 1
      n = d%z_size(c)
      do k = 1, n
        g = d%z_first(c) + k
        do j = 1, d%y_size(c)
          call eliminate(f%d(:, 1:d%nx, j, k, c), f%d(:, 1:d%nx, j, k - 1, c), f%a, f%pivot_z(:, g))
        end do
      end do
      f%d(:, :, :, 0, c) = 0
      if (c == d%ranks - 1) exit
      call pass(f%d(:, 1:d%nx, 1:d%y_size(c), n, c), f%d(:, 1:d%nx, 1:d%y_size(c + 1), 0, c + 1), d%previous, d%next)
    end do
    do c = d%ranks - 1, 0, -1
      n = d%z_size(c)
      do k = n, 1, -1
        g = d%z_first(c) + k
        if (g == d%nz) cycle
        do j = 1, d%y_size(c)
          call substitute(f%d(:, 1:d%nx, j, k, c), f%d(:, 1:d%nx, j, k + 1, c), f%a, f%pivot_z(:, g))
        end do
      end do
      f%d(:, :, :, n + 1, c) = 0
      if (c == 0) exit
      call pass(f%d(:, 1:d%nx, 1:d%y_size(c), 1, c), &
                f%d(:, 1:d%nx, 1:d%y_size(c - 1), d%z_size(c - 1) + 1, c - 1), d%next, d%previous)
    end do
  end subroutine

  subroutine eliminate(line, before, a, pivot)
    real(real64), intent(inout) :: line(:, :)
    real(real64), intent(in) :: before(:, :), a(:), pivot(:)
    integer :: i
    do i = 1, size(line, 2)
      line(:, i) = (line(:, i) + a * before(:, i)) * pivot
    end do
  end subroutine

  subroutine substitute(line, after, a, pivot)
    real(real64), intent(inout) :: line(:, :)
    real(real64), intent(in) :: after(:, :), a(:), pivot(:)
    integer :: i
    do i = 1, size(line, 2)
      line(:, i) = line(:, i) + a * pivot * after(:, i)
    end do
  end subroutine

  subroutine pass(out, in, destination, source)
    real(real64), intent(in) :: out(:, :, :)
    real(real64), intent(inout) :: in(:, :, :)
    integer, intent(in) :: destination, source
    real(real64), allocatable :: sending(:), receiving(:)
    integer :: used
    allocate (sending(size(out)), receiving(size(in)))
    sending = reshape(out, [size(out)])
    call MPI_Sendrecv(sending, size(sending), MPI_DOUBLE_PRECISION, destination, 5, receiving, size(receiving), &
                      MPI_DOUBLE_PRECISION, source, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    used = 0
    call unpack_face(in, receiving, used)
  end subroutine
end module

module dumps
  use mesh
  implicit none
  private
  public :: dump_file, open_dumps, write_dump, read_dump, close_dumps, field_checksum

  type :: dump_file
    type(MPI_File) :: handle
    type(MPI_Datatype) :: in_memory, in_file   ! all cells of the rank (full mode)
    logical :: full
    integer :: piece                           ! points per independent call (simple mode)
    integer(MPI_OFFSET_KIND) :: points         ! of this rank, in one dump
    integer(int64) :: calls = 0, bytes = 0     ! data calls and bytes of this rank
  end type
  integer, parameter :: point_bytes = quantities * 8

contains

  subroutine check(error, call)
    integer, intent(in) :: error
    character(len=*), intent(in) :: call
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: length
    if (error == MPI_SUCCESS) return
    call MPI_Error_string(error, text, length)
    call fail(call//': '//text(:length))
  end subroutine

  ! Collective. A file opened for writing is emptied first.
  subroutine open_dumps(file, d, s, for_writing)
    type(dump_file), intent(out) :: file
    type(diagonal), intent(in) :: d
    type(settings), intent(in) :: s
    logical, intent(in) :: for_writing
    integer :: error, c
    file%full = s%mode == 'full'
    file%piece = merge(s%piece, s%nx, s%piece > 0)
    file%points = 0
    do c = 0, d%ranks - 1
      file%points = file%points + int(d%nx, MPI_OFFSET_KIND) * d%y_size(c) * d%z_size(c)
    end do
    if (for_writing) then
      call MPI_File_open(MPI_COMM_WORLD, s%output, MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file%handle, error)
      call check(error, 'open of '//s%output)
      call MPI_File_set_size(file%handle, 0_MPI_OFFSET_KIND, error)
      call check(error, 'set_size')
    else
      call MPI_File_open(MPI_COMM_WORLD, s%output, MPI_MODE_RDONLY, MPI_INFO_NULL, file%handle, error)
      call check(error, 'open of '//s%output)
    end if
    if (file%full) then
      call make_types(file, d)
      call MPI_File_set_view(file%handle, 0_MPI_OFFSET_KIND, MPI_DOUBLE_PRECISION, file%in_file, 'native', &
                             MPI_INFO_NULL, error)
      call check(error, 'set_view')
    end if
  end subroutine

  ! The cells in the order of their z index: their places in the file ascend, as a view demands.
  subroutine make_types(file, d)
    type(dump_file), intent(inout) :: file
    type(diagonal), intent(in) :: d
    type(MPI_Datatype) :: memory_cell(0:d%ranks - 1), file_cell(0:d%ranks - 1)
    integer(MPI_ADDRESS_KIND) :: memory_place(0:d%ranks - 1), file_place(0:d%ranks - 1)
    integer :: ones(0:d%ranks - 1), storage(4), part(4), c
    ones = 1
    storage = [quantities, d%nx + 2, d%y_size_max + 2, d%z_size_max + 2]
    do c = 0, d%ranks - 1
      part = [quantities, d%nx, d%y_size(c), d%z_size(c)]
      memory_place(c) = c * 8 * product(int(storage, MPI_ADDRESS_KIND))
      file_place(c) = 0
      call MPI_Type_create_subarray(4, storage, part, [0, 1, 1, 1], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, &
                                    memory_cell(c))
      call MPI_Type_create_subarray(4, [quantities, d%nx, d%ny, d%nz], part, [0, 0, d%y_first(c), d%z_first(c)], &
                                    MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, file_cell(c))
    end do
    call MPI_Type_create_struct(d%ranks, ones, memory_place, memory_cell, file%in_memory)
    call MPI_Type_create_struct(d%ranks, ones, file_place, file_cell, file%in_file)
    call MPI_Type_commit(file%in_memory)
    call MPI_Type_commit(file%in_file)
    do c = 0, d%ranks - 1
      call MPI_Type_free(memory_cell(c))
      call MPI_Type_free(file_cell(c))
    end do
  end subroutine

  subroutine write_dump(file, d, dump, u)
    type(dump_file), intent(inout) :: file
    type(diagonal), intent(in) :: d
    integer, intent(in) :: dump                                 ! counted from 0
    real(real64), contiguous, intent(in) :: u(:, 0:, 0:, 0:, 0:)
    type(MPI_Status) :: status
    integer :: error, c, i, j, k, points
    if (file%full) then
      call MPI_File_write_at_all(file%handle, dump * file%points * quantities, u, 1, file%in_memory, status, error)
      call finished(file, status, error, file%points, 'write_at_all')
      return
    end if
    do c = 0, d%ranks - 1
      do k = 1, d%z_size(c)
        do j = 1, d%y_size(c)
          do i = 1, d%nx, file%piece
            points = min(file%piece, d%nx - i + 1)
            call MPI_File_write_at(file%handle, place(d, dump, c, i, j, k), u(1, i, j, k, c), quantities * points, &
                                   MPI_DOUBLE_PRECISION, status, error)
            call finished(file, status, error, int(points, MPI_OFFSET_KIND), 'write_at')
          end do
        end do
      end do
    end do
  end subroutine

  subroutine read_dump(file, d, dump, u)
    type(dump_file), intent(inout) :: file
    type(diagonal), intent(in) :: d
    integer, intent(in) :: dump
    real(real64), contiguous, intent(inout) :: u(:, 0:, 0:, 0:, 0:)
    type(MPI_Status) :: status
    integer :: error, c, i, j, k, points
    if (file%full) then
      call MPI_File_read_at_all(file%handle, dump * file%points * quantities, u, 1, file%in_memory, status, error)
      call finished(file, status, error, file%points, 'read_at_all')
      return
    end if
    do c = 0, d%ranks - 1
      do k = 1, d%z_size(c)
        do j = 1, d%y_size(c)
          do i = 1, d%nx, file%piece
            points = min(file%piece, d%nx - i + 1)
            call MPI_File_read_at(file%handle, place(d, dump, c, i, j, k), u(1, i, j, k, c), quantities * points, &
                                  MPI_DOUBLE_PRECISION, status, error)
            call finished(file, status, error, int(points, MPI_OFFSET_KIND), 'read_at')
          end do
        end do
      end do
    end do
  end subroutine

  pure integer(MPI_OFFSET_KIND) function place(d, dump, c, i, j, k)
    type(diagonal), intent(in) :: d
    integer, intent(in) :: dump, c, i, j, k
    integer(MPI_OFFSET_KIND) :: plane
    plane = int(dump, MPI_OFFSET_KIND) * d%nz + d%z_first(c) + k - 1
    place = ((plane * d%ny + d%y_first(c) + j - 1) * d%nx + i - 1) * point_bytes
  end function

  subroutine finished(file, status, error, points, call)
    type(dump_file), intent(inout) :: file
    type(MPI_Status), intent(in) :: status
    integer, intent(in) :: error
    integer(MPI_OFFSET_KIND), intent(in) :: points
    character(len=*), intent(in) :: call
    integer(MPI_COUNT_KIND) :: doubles
    call check(error, call)
    call MPI_Get_elements_x(status, MPI_DOUBLE_PRECISION, doubles)
    if (doubles /= points * quantities) call fail(call//' moved only a part of the data')
    file%calls = file%calls + 1
    file%bytes = file%bytes + points * point_bytes
  end subroutine

  ! Collective.
  subroutine close_dumps(file)
    type(dump_file), intent(inout) :: file
    integer :: error
    call MPI_File_close(file%handle, error)
    call check(error, 'close')
    if (.not. file%full) return
    call MPI_Type_free(file%in_memory)
    call MPI_Type_free(file%in_file)
  end subroutine

  ! This rank's sum over its points of a hash of (place, bits); integer overflow is avoided by keeping 31-bit words.
  function field_checksum(d, u) result(total)
    type(diagonal), intent(in) :: d
    real(real64), contiguous, intent(in) :: u(:, 0:, 0:, 0:, 0:)
    integer(int64) :: total, bits, hash
    integer(int64), parameter :: prime = 2147483647_int64
    integer :: c, i, j, k, m
    total = 0
    do c = 0, d%ranks - 1
      do k = 1, d%z_size(c)
        do j = 1, d%y_size(c)
          do i = 1, d%nx
            do m = 1, quantities
              bits = transfer(u(m, i, j, k, c), bits)
              hash = mod(iand(bits, prime) * 48271_int64 + place(d, 0, c, i, j, k) + m, prime)
              hash = mod(hash * 69621_int64 + ishft(bits, -31), prime)
              total = total + hash
            end do
          end do
        end do
      end do
    end do
  end function
end module

program multipart
  use solver
  use dumps
  use mesh
  implicit none
  type(settings) :: s
  type(diagonal) :: d
  type(field) :: f
  integer :: rank, ranks, status
  real(real64) :: compute_s = 0, io_s = 0, began
  integer(int64) :: counts(2) = 0     ! data calls, bytes: of this rank
  integer(int64), allocatable :: checksums(:)
  logical :: verified

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call read_command_line(s, status)
  if (status < 0) then
    call make_diagonal(d, s)
    call make_field(f, d)
    allocate (checksums(0:s%steps / s%dump_every - 1))
    call simulate()
    call verify(verified)
    call report(verified)
    status = merge(0, 1, verified)
  end if
  call MPI_Finalize()
  if (status /= 0) call exit_with(status)

contains

  subroutine simulate()
    type(dump_file) :: file
    integer :: step, dump
    began = MPI_Wtime()
    call open_dumps(file, d, s, for_writing=.true.)
    io_s = io_s + MPI_Wtime() - began
    call start_field(f, d)
    do step = 1, s%steps
      began = MPI_Wtime()
      call step_field(f, d)
      compute_s = compute_s + MPI_Wtime() - began
      if (mod(step, s%dump_every) /= 0) cycle
      dump = step / s%dump_every - 1
      checksums(dump) = field_checksum(d, f%u)
      began = MPI_Wtime()
      call write_dump(file, d, dump, f%u)
      io_s = io_s + MPI_Wtime() - began
    end do
    began = MPI_Wtime()
    call close_dumps(file)
    io_s = io_s + MPI_Wtime() - began
    counts = counts + [file%calls, file%bytes]
  end subroutine

  ! Reads everything back: each dump must have the bits that were written and be the exact solution of its step.
  subroutine verify(good)
    logical, intent(out) :: good
    type(dump_file) :: file
    real(real64), allocatable :: u(:, :, :, :, :)
    real(real64) :: mine(2), worst(2)      ! wrong dumps (0 or 1), error against the exact field
    integer :: dump
    real(real64), parameter :: tolerance = 1e-11_real64
    good = .true.
    began = MPI_Wtime()
    call open_dumps(file, d, s, for_writing=.false.)
    io_s = io_s + MPI_Wtime() - began
    allocate (u, mold=f%u)
    do dump = 0, ubound(checksums, 1)
      u = huge(1.0_real64)
      began = MPI_Wtime()
      call read_dump(file, d, dump, u)
      io_s = io_s + MPI_Wtime() - began
      mine = [merge(0.0_real64, 1.0_real64, field_checksum(d, u) == checksums(dump)), &
              exact_error(f, d, u, (dump + 1) * s%dump_every)]
      call MPI_Allreduce(mine, worst, 2, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
      good = good .and. worst(1) < 0.5_real64 .and. worst(2) <= tolerance
      if (rank == 0) print '(a,i0,3a,es8.1)', 'multipart: dump ', dump, ' read back ', &
        merge('equal    ', 'DIFFERENT', worst(1) < 0.5_real64), ', error against the exact solution ', worst(2)
    end do
    began = MPI_Wtime()
    call close_dumps(file)
    io_s = io_s + MPI_Wtime() - began
    counts = counts + [file%calls, file%bytes]
  end subroutine

  subroutine report(good)
    logical, intent(in) :: good
    real(real64) :: slowest(2)
    integer(int64) :: total(2)
    call MPI_Reduce([compute_s, io_s], slowest, 2, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD)
    call MPI_Reduce(counts, total, 2, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank /= 0) return
    print '(3a,i0,a)', 'multipart: mode ', trim(s%mode), ', ', total(1), ' data calls'
    print '(3a,i0,a,i0,4a)', 'multipart: verification=', merge('passed', 'FAILED', good), ' ranks=', ranks, &
      ' opens=2 bytes=', total(2), ' compute_s=', seconds(slowest(1)), ' io_s=', seconds(slowest(2))
  end subroutine

  function seconds(value) result(text)
    real(real64), intent(in) :: value
    character(len=:), allocatable :: text
    character(len=24) :: padded
    write (padded, '(f24.6)') value
    text = trim(adjustl(padded))
  end function

  subroutine usage()
    print '(a)', 'usage: mpiexec -n RANKS multipart --output PATH [options]', &
      'Implicit diffusion of five quantities on a diagonal multi-partition; dumps are read back and verified.', &
      '  --output PATH        file of all dumps: anything MPI_File_open accepts', &
      '  --mode simple|full   independent write_at per run, or struct view and write_at_all (default simple)', &
      '  --piece N            points per write in simple mode, 40 bytes each (default: a whole line)', &
      '  --grid NX,NY,NZ      points (default 24,24,24); NY and NZ at least the number of ranks', &
      '  --steps N            time steps (default 20)', &
      '  --dump-every N       steps between dumps (default 5)', &
      '  --help               this text', &
      'The exit status is 0 only if every verification succeeded.'
  end subroutine

  ! status: -1 to run, otherwise what to exit with. Every rank sees the same arguments and comes to the same end.
  subroutine read_command_line(s, status)
    type(settings), intent(inout) :: s
    integer, intent(out) :: status
    character(len=4096) :: name, value
    integer :: n, equals, error
    status = -1
    n = 1
    do while (n <= command_argument_count())
      call get_command_argument(n, name)
      n = n + 1
      if (name == '--help' .or. name == '-h') then
        if (rank == 0) call usage()
        status = 0
        return
      end if
      equals = index(name, '=')
      if (equals > 0) then
        value = name(equals + 1:)
        name = name(:equals - 1)
      else
        call get_command_argument(n, value)
        n = n + 1
      end if
      error = 0
      select case (name)
      case ('--output'); s%output = trim(value)
      case ('--mode'); s%mode = trim(value)
      case ('--piece'); read (value, *, iostat=error) s%piece
      case ('--grid'); read (value, *, iostat=error) s%nx, s%ny, s%nz
      case ('--steps'); read (value, *, iostat=error) s%steps
      case ('--dump-every'); read (value, *, iostat=error) s%dump_every
      case default; error = 1
      end select
      if (error /= 0 .or. len_trim(value) == 0) call refuse('bad argument '//trim(name)//' '//trim(value), status)
    end do
    if (.not. allocated(s%output)) call refuse('--output is needed', status)
    if (s%mode /= 'simple' .and. s%mode /= 'full') call refuse('--mode is simple or full', status)
    if (min(s%nx, s%ny, s%nz, s%dump_every) < 1 .or. min(s%piece, s%steps) < 0) call refuse('too small a number', status)
    if (s%steps < s%dump_every) call refuse('there would be no dump to verify', status)
    if (min(s%ny, s%nz) < ranks) call refuse('NY and NZ must be at least the number of ranks', status)
  end subroutine

  subroutine refuse(why, status)
    character(len=*), intent(in) :: why
    integer, intent(inout) :: status
    if (rank == 0 .and. status /= 2) write (error_unit, '(3a)') 'multipart: ', why, '; see --help'
    status = 2
  end subroutine

  subroutine exit_with(code)
    integer, intent(in) :: code
    interface
      subroutine c_exit(code) bind(c, name='exit')
        use, intrinsic :: iso_c_binding, only: c_int
        integer(c_int), value :: code
      end subroutine
    end interface
    call c_exit(code)
  end subroutine
end program
