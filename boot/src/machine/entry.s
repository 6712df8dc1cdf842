// From the boot loader's jump to Rust. Linux arm64 boot protocol: x0 = device tree, MMU and data cache off, any exception
// level of EL1 and EL2, any 4 KiB boundary. Until `enter` runs, nothing here touches memory outside the image.
//
// x19 = what the boot loader handed over, x20 = exception level at entry, x21 = load address, throughout.

    .section .text.entry, "ax"
    .global _start
_start:
    // A guest of m1n1's hypervisor starts with whatever m1n1 had unmasked: nothing may interrupt from here on.
    msr     daifset, #15
    mov     x19, x0
    adrp    x21, __image_start

    // Before anything can fault: until the console is there, the handlers park.
    adr     x9, vectors
    mrs     x20, CurrentEL
    lsr     x20, x20, #2
    cmp     x20, #2
    b.ne    1f

    // EL2. Apple Silicon has E2H fixed at 1; where the processor has VHE (ID_AA64MMFR1_EL1.VH, bits 11:8), it is set, and
    // the registers named _EL1 act on EL2 in the EL1 layout. So there is one set of layouts for all three ways to enter.
    mrs     x1, ID_AA64MMFR1_EL1
    ubfx    x1, x1, #8, #4
    cbz     x1, 0f
    mrs     x1, hcr_el2
    // E2H (34), RW (31), TGE (27): with TGE, SError is routed to EL2 and can be reported.
    mov     x2, #(1 << 34)
    orr     x2, x2, #(1 << 31)
    orr     x2, x2, #(1 << 27)
    orr     x1, x1, x2
    msr     hcr_el2, x1
    isb
    b       1f

0:  // EL2 without VHE (QEMU's older processors; no Apple Silicon): go down to EL1 rather than keep a second set of
    // register layouts. RW = 1: EL1 is AArch64; everything else off, so nothing traps back here.
    mov     x1, #(1 << 31)
    msr     hcr_el2, x1
    // EL1 may read the counters, at no offset.
    mrs     x1, cnthctl_el2
    orr     x1, x1, #3
    msr     cnthctl_el2, x1
    msr     cntvoff_el2, xzr
    // No coprocessor traps (0x33ff: the reserved-one bits of CPTR_EL2).
    mov     x1, #0x33ff
    msr     cptr_el2, x1
    msr     hstr_el2, xzr
    // EL1 sees this processor's own identity.
    mrs     x1, midr_el1
    msr     vpidr_el2, x1
    mrs     x1, mpidr_el1
    msr     vmpidr_el2, x1
    // Everything masked, EL1 with its own stack pointer.
    mov     x1, #0x3c5
    msr     spsr_el2, x1
    adr     x1, 1f
    msr     elr_el2, x1
    eret

1:  msr     vbar_el1, x9
    // MMU and caches off, little endian: the bits that are reserved as one, and no other (LSMAOE, nTLSMD, SPAN, EIS,
    // TSCXT, EOS where implemented).
    movz    x1, #0x30d0, lsl #16
    movk    x1, #0x0800
    msr     sctlr_el1, x1
    isb

    // What is written from here until the MMU is on goes past the caches. Lines of this memory that the boot loader left
    // behind would hide it later: clean and invalidate them first, by the smallest line size (CTR_EL0.DminLine).
    adrp    x1, __image_start
    adrp    x2, __clear_end
    add     x2, x2, :lo12:__clear_end
    mrs     x3, ctr_el0
    ubfx    x3, x3, #16, #4
    mov     x4, #4
    lsl     x4, x4, x3
2:  dc      civac, x1
    add     x1, x1, x4
    cmp     x1, x2
    b.lo    2b
    dsb     sy

    // Relocate: the image is linked at 0, so each word that holds an address needs the load address added. The linker
    // lists those words in the RELR form (System V ABI, "Relative Relocation Table"): an even entry is the offset of such a
    // word; an odd one is a bitmap for the 63 words that follow the last one covered, bit 1 being the first of them.
    adrp    x1, __relocations_start
    add     x1, x1, :lo12:__relocations_start
    adrp    x2, __relocations_end
    add     x2, x2, :lo12:__relocations_end
3:  cmp     x1, x2
    b.hs    4f
    ldr     x3, [x1], #8
    tbnz    x3, #0, 7f
    add     x4, x21, x3
    ldr     x5, [x4]
    add     x5, x5, x21
    str     x5, [x4], #8
    b       3b
7:  // x4 = first word of the bitmap, x6 = the word at hand.
    mov     x6, x4
8:  lsr     x3, x3, #1
    cbz     x3, 10f
    tbz     x3, #0, 9f
    ldr     x5, [x6]
    add     x5, x5, x21
    str     x5, [x6]
9:  add     x6, x6, #8
    b       8b
10: add     x4, x4, #(63 * 8)
    b       3b

4:  // Clear what the file does not hold.
    adrp    x1, __clear_start
    add     x1, x1, :lo12:__clear_start
    adrp    x2, __clear_end
    add     x2, x2, :lo12:__clear_end
5:  cmp     x1, x2
    b.hs    6f
    stp     xzr, xzr, [x1], #16
    b       5b

6:  // A known stack, and the stack pointer of this level.
    msr     spsel, #1
    adrp    x1, __stack_end
    add     x1, x1, :lo12:__stack_end
    mov     sp, x1
    mov     x29, xzr
    mov     x30, xzr
    mov     x0, x19
    mov     x1, x20
    bl      enter
    // `enter` does not return.
    .global park
park:
    wfe
    b       park
