//! The machine: the processor, the board around it, and the run from entry to power off.

mod board;
mod clock;
mod console;
mod critical;
mod end;
mod exception;
#[cfg(feature = "defmt")]
mod frames;
mod handover;
mod image;
#[cfg(feature = "log")]
mod logger;
mod pci;
mod run;
mod translation;

use core::arch::global_asm;

use boot::step;
use translation::Mapper;

global_asm!(include_str!("machine/entry.s"), options(raw));
global_asm!(include_str!("machine/vectors.s"), options(raw));

/// Where `entry.s` ends: with a stack, relocated, statics cleared, all exceptions masked, and the MMU off.
///
/// Until the MMU is on, no atomic read-modify-write and so no lock works (Arm ARM B2.2.5: exclusives need Normal memory).
#[unsafe(no_mangle)]
extern "C" fn enter(handed_over: usize, level: u64) -> ! {
    let arrived = hal::time::GenericTimer::ticks();
    let Ok(mut mapper) = Mapper::with_image() else {
        // Only a linker script that disagrees with the table count gets here, and there is no console to say so.
        park();
    };
    let tree = handover::take(handed_over, &mut mapper);
    mapper.enable();
    clock::start(arrived);
    step::enter("looking for the console");
    let outcome = tree.and_then(|blob| run::run(blob, &mut mapper, level));
    match outcome {
        Ok(()) => end::success(),
        Err(reason) => {
            // Without a usable tree there is no console yet, or no power off; this line is all that there is to say.
            board::fall_back(&mut mapper);
            end::failure(&reason)
        }
    }
}

/// Stops for good.
fn park() -> ! {
    loop {
        aarch64_cpu::asm::wfe();
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let _ = console::forced();
    match info.location() {
        Some(place) => end::failure(&format_args!(
            "panic: {} ({}:{}), while {}",
            info.message(),
            place.file(),
            place.line(),
            step::current()
        )),
        None => end::failure(&format_args!("panic: {}, while {}", info.message(), step::current())),
    }
}
