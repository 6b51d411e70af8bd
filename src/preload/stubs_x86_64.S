/* Jump stubs for every function of functions.def, under its MPI_ and its PMPI_ name.
 *
 * A stub does not know the types of its arguments (they differ between MPI libraries: MPI_File is a pointer in one and
 * an int in another), so it leaves all registers and the stack as they are and jumps through a table. Until the first
 * call the table leads to a piece of code that asks suiro_resolve() to fill it. */

#define SUIRO_NATIVE(name)
#define SUIRO_FN_C(name) SUIRO_FN(name)

/* --- the stubs: jmp *suiro_table[index] --- */
        .text
        .set    suiro_index, 0
#define SUIRO_FN(name)                                   \
        .globl  name, P##name;                           \
        .type   name, @function;                         \
        .type   P##name, @function;                      \
        .p2align 4;                                      \
name:                                                    \
P##name:                                                 \
        endbr64;                                         \
        jmp     *(suiro_table + 8 * suiro_index)(%rip);  \
        .size   name, . - name;                          \
        .size   P##name, . - P##name;                    \
        .set    suiro_index, suiro_index + 1;
#include "functions.def"
#undef SUIRO_FN

/* --- first call of a function: ask which code serves it, then go there with the arguments untouched --- */
        .set    suiro_index, 0
#define SUIRO_FN(name)                                   \
.Lfirst_##name:                                          \
        endbr64;                                         \
        movl    $suiro_index, %eax;                      \
        jmp     .Lresolve;                               \
        .set    suiro_index, suiro_index + 1;
#include "functions.def"
#undef SUIRO_FN

        .p2align 4
        .type   .Lresolve, @function
.Lresolve:
        .cfi_startproc
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        pushq   %rcx
        .cfi_adjust_cfa_offset 8
        pushq   %r8
        .cfi_adjust_cfa_offset 8
        pushq   %r9
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp                /* keeps the stack 16-byte aligned at the call */
        .cfi_adjust_cfa_offset 8
        movl    %eax, %edi
        call    suiro_resolve
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %r9
        .cfi_adjust_cfa_offset -8
        popq    %r8
        .cfi_adjust_cfa_offset -8
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc

/* --- the table --- */
        .data
        .p2align 3
        .globl  suiro_table
        .hidden suiro_table
        .type   suiro_table, @object
suiro_table:
#define SUIRO_FN(name) .quad .Lfirst_##name;
#include "functions.def"
#undef SUIRO_FN
        .size   suiro_table, . - suiro_table

        .section .note.GNU-stack, "", @progbits
