//! The barriers between memory, devices and the instruction stream.
//!
//! Arm Architecture Reference Manual, B2.3 (memory ordering) and its appendix on barriers: a store to Device memory that
//! makes a device look at Normal memory needs `DMB OSHST` before it, and loads of what a device wrote need `DMB OSHLD`
//! after the load that told of it. The outer shareable domain is the one that holds devices. On other processors, where
//! only tests run, each of these is a full fence.

#[cfg(all(target_arch = "aarch64", not(miri)))]
use aarch64_cpu::asm::barrier as instruction;

#[cfg(not(all(target_arch = "aarch64", not(miri))))]
use core::sync::atomic::{Ordering, fence};

macro_rules! barrier {
    ($(#[$what:meta])* $name:ident = $operation:ident $domain:ident) => {
        $(#[$what])*
        #[inline(always)]
        pub fn $name() {
            #[cfg(all(target_arch = "aarch64", not(miri)))]
            instruction::$operation(instruction::$domain);
            #[cfg(not(all(target_arch = "aarch64", not(miri))))]
            fence(Ordering::SeqCst);
        }
    };
}

barrier!(
    /// `DMB OSHST`: stores before it are seen by devices before stores after it (memory, then doorbell).
    publish = dmb OSHST
);
barrier!(
    /// `DMB OSHLD`: loads before it are done before loads and stores after it (phase bit, then the entry).
    observe = dmb OSHLD
);
barrier!(
    /// `DMB OSH`: orders loads and stores on both sides of it.
    order = dmb OSH
);
barrier!(
    /// `DSB SY`: nothing goes on until every access and every cache maintenance before it is complete.
    complete = dsb SY
);
barrier!(
    /// `ISB`: later instructions see the effect of earlier system register writes.
    synchronize = isb SY
);

/// `DSB SY` then `ISB`: everything before it is complete and visible to everything after it.
#[inline(always)]
pub fn full() {
    complete();
    synchronize();
}
