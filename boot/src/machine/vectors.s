// Exception vectors. Nothing here ever returns: every exception is the end of the run and becomes a report.

    // One of the 16 entries, 128 bytes each (Arm ARM D1.10.2): notes which one it was, and goes on in the common part.
    .macro vector number
    .balign 128
    msr     tpidr_el0, x0
    mov     x0, #\number
    b       exception
    .endm

    .section .vectors, "ax"
    .balign 2048
vectors:
    // Current level with SP_EL0, current level with its own stack pointer, lower level AArch64, lower level AArch32;
    // in each: synchronous, IRQ, FIQ, SError.
    vector 0
    vector 1
    vector 2
    vector 3
    vector 4
    vector 5
    vector 6
    vector 7
    vector 8
    vector 9
    vector 10
    vector 11
    vector 12
    vector 13
    vector 14
    vector 15

    .section .text.exception, "ax"
    // x0 = vector number, TPIDR_EL0 = the interrupted x0.
exception:
    msr     tpidrro_el0, x1
    // No report before the console is there, and none about a fault in the report: park, as the boot loader's watchdog
    // or a person will end it.
    adrp    x1, REPORTABLE
    ldr     w1, [x1, :lo12:REPORTABLE]
    cbz     w1, park
    mov     x1, sp
    msr     tpidr_el1, x1
    adrp    x1, __exception_stack_end
    add     x1, x1, :lo12:__exception_stack_end
    // The frame: x0 to x30, the stack pointer, the vector number. `exception::Frame` names the same fields.
    sub     sp, x1, #272
    stp     x2, x3, [sp, #16]
    stp     x4, x5, [sp, #32]
    stp     x6, x7, [sp, #48]
    stp     x8, x9, [sp, #64]
    stp     x10, x11, [sp, #80]
    stp     x12, x13, [sp, #96]
    stp     x14, x15, [sp, #112]
    stp     x16, x17, [sp, #128]
    stp     x18, x19, [sp, #144]
    stp     x20, x21, [sp, #160]
    stp     x22, x23, [sp, #176]
    stp     x24, x25, [sp, #192]
    stp     x26, x27, [sp, #208]
    stp     x28, x29, [sp, #224]
    mrs     x2, tpidr_el1
    stp     x30, x2, [sp, #240]
    str     x0, [sp, #256]
    mrs     x2, tpidr_el0
    mrs     x3, tpidrro_el0
    stp     x2, x3, [sp]
    mov     x0, sp
    bl      report_exception
    b       park
