//! Where the image lies: the linker script's symbols.

use core::ops::Range;

macro_rules! boundary {
    ($(#[$what:meta])* $name:ident, $symbol:ident) => {
        $(#[$what])*
        pub(crate) fn $name() -> usize {
            unsafe extern "C" {
                static $symbol: u8;
            }
            // Only the address is taken; there is nothing to read at a boundary.
            &raw const $symbol as usize
        }
    };
}

boundary!(
    /// The header's first byte.
    start, __image_start
);
boundary!(
    /// The first byte of constants: what lies before is code.
    constants, __rodata_start
);
boundary!(
    /// The first byte of data: what lies before is constant.
    data, __data_start
);
boundary!(
    /// The page that stays unmapped below the stack.
    guard, __guard_start
);
boundary!(
    /// The lowest byte of the stack.
    stack, __stack_start
);
boundary!(
    /// The first byte behind the exception stack: the end of what the entry code cleared.
    cleared, __clear_end
);
boundary!(pool_start, __pool_start);
boundary!(pool_end, __pool_end);

/// The DMA memory, which nothing else in the image names.
pub(crate) fn pool() -> Range<usize> {
    pool_start()..pool_end()
}
