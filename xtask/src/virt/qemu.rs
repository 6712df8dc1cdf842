//! QEMU as a process: started, watched, read line by line, and ended.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::console::Console;
use super::events::{EVENTS, Events};
use crate::failure::Failure;
use crate::frames;
use crate::shell;

/// What is typed at the console.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Nothing.
    None,
    /// What a person types, or what comes in a pipe.
    Terminal,
    /// A file's bytes, and then the end of input.
    File(PathBuf),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The image reported success.
    Success,
    /// The image reported this failure.
    Failure(String),
    /// QEMU ended, and the image had reported nothing.
    Silent(String),
    /// QEMU refused its arguments, for this reason.
    Refused(String),
    /// The limit of that many seconds was reached.
    OutOfTime(u64),
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) end: End,
    /// What the image said.
    pub(crate) console: Console,
    /// From QEMU's start to its end.
    pub(crate) wall: Duration,
    /// QEMU's own account, if it was asked for.
    pub(crate) events: Option<Events>,
}

/// How a run is watched.
#[derive(Clone, Debug)]
pub(crate) struct Watch<'a> {
    pub(crate) input: Input,
    /// The most seconds that QEMU may run.
    pub(crate) limit: Option<u64>,
    /// QEMU keeps an account of what its controller sees. It is slower then.
    pub(crate) traced: bool,
    /// The console appears on standard output.
    pub(crate) shown: bool,
    /// The image's ELF file, if it logs in frames.
    pub(crate) frames: Option<&'a Path>,
}

/// The end of input as the console knows it (Ctrl-D).
const END_OF_INPUT: u8 = 4;

/// A file that goes away with its owner, however that ends.
#[derive(Debug)]
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    /// A name in the target directory that no other run has.
    pub(crate) fn new(name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(shell::target().join(format!("virt-{}-{number}-{name}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing is lost if it stays, or was never made.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// QEMU, which does not outlive its owner.
struct Machine(Arc<Mutex<Child>>);

impl Machine {
    fn lock(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end without keeping the lock: the watchdog needs it to end what does not end.
    fn wait(&self) -> std::io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.lock().try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let mut child = self.lock();
        // An error says that it has ended already.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Runs QEMU with `arguments` to its end.
pub(crate) fn run(arguments: &[String], watch: &Watch<'_>) -> Result<Run, Failure> {
    let log = Scratch::new("qemu.log");
    let mut command = command(arguments, watch, &log);
    let began = Instant::now();
    let mut child = command.spawn().map_err(|error| Failure::usage(format!("cannot run QEMU: {error}")))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let machine = Machine(Arc::new(Mutex::new(child)));
    let expired = Arc::new(AtomicBool::new(false));
    let (done, over) = channel();
    let watchdog = watch.limit.map(|seconds| watchdog(&machine, &expired, over, seconds));
    let complaints = thread::spawn(move || stderr.map(pass_on).unwrap_or_default());
    let (spoke, speaks) = channel();
    if let Some(stdin) = stdin {
        feed(watch.input.clone(), stdin, speaks)?;
    }
    let mut console = Console::new(watch.shown, spoke);
    let read = match (stdout, watch.frames) {
        (Some(stdout), Some(elf)) => frames::decode(elf, stdout, &mut console),
        (Some(stdout), None) => copy(stdout, &mut console),
        (None, _) => Ok(()),
    };
    // A decoder that gave up has its reason; the machine is not left running for it.
    if let Err(failure) = read {
        drop(machine);
        return if expired.load(Ordering::Relaxed) { Err(out_of_time(watch)) } else { Err(failure) };
    }
    let status = machine.wait().map_err(|error| Failure::failed(format!("QEMU: {error}")))?;
    let wall = began.elapsed();
    drop(done);
    if let Some(watchdog) = watchdog {
        // It only waits and kills.
        let _ = watchdog.join();
    }
    let complaint = complaints.join().unwrap_or_default();
    let events = if watch.traced { Some(account(&log.0)?) } else { None };
    let end = end(&console, status, &complaint, expired.load(Ordering::Relaxed), watch);
    Ok(Run { end, console, wall, events })
}

fn out_of_time(watch: &Watch<'_>) -> Failure {
    Failure::crashed(format!("out of time: no end after {} s", watch.limit.unwrap_or_default()))
}

fn command(arguments: &[String], watch: &Watch<'_>, log: &Scratch) -> Command {
    // However this program ends, the machine ends with it: the kernel sees to that.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", "qemu-system-aarch64"]).args(arguments);
    if watch.traced {
        command.arg("-D").arg(&log.0);
        for pattern in EVENTS {
            command.args(["-trace", pattern]);
        }
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(match watch.input {
        Input::None => Stdio::null(),
        // QEMU gives the machine each key that is hit, and the terminal back at the end.
        Input::Terminal if std::io::IsTerminal::is_terminal(&std::io::stdin()) => Stdio::inherit(),
        Input::Terminal | Input::File(_) => Stdio::piped(),
    });
    command
}

/// Ends the machine when its time is over.
fn watchdog(machine: &Machine, expired: &Arc<AtomicBool>, over: Receiver<()>, seconds: u64) -> thread::JoinHandle<()> {
    let (machine, expired) = (Arc::clone(&machine.0), Arc::clone(expired));
    thread::spawn(move || {
        if over.recv_timeout(Duration::from_secs(seconds)) == Err(RecvTimeoutError::Timeout) {
            expired.store(true, Ordering::Relaxed);
            let mut child = machine.lock().unwrap_or_else(PoisonError::into_inner);
            // An error says that it has ended by itself.
            let _ = child.kill();
        }
    })
}

/// Shows what QEMU says about itself, and keeps its last line.
fn pass_on(stderr: impl Read) -> String {
    let mut last = String::new();
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        last = String::from_utf8_lossy(&line).trim_end().to_owned();
        eprintln!("{last}");
    }
    last
}

/// Types at the console once the image has spoken: a UART that is set up forgets what came before.
fn feed(input: Input, mut stdin: impl Write + Send + 'static, speaks: Receiver<()>) -> Result<(), Failure> {
    let mut source: Box<dyn Read + Send> = match input {
        Input::File(path) => Box::new(
            std::fs::File::open(&path).map_err(|error| Failure::usage(format!("input {}: {error}", path.display())))?,
        ),
        Input::Terminal => Box::new(std::io::stdin()),
        Input::None => return Ok(()),
    };
    thread::spawn(move || {
        if speaks.recv().is_ok() {
            // The machine may end before all is read; the run's result says how.
            let _ = std::io::copy(&mut source, &mut stdin).and_then(|_| stdin.write_all(&[END_OF_INPUT]));
            let _ = stdin.flush();
        }
    });
    Ok(())
}

/// Copies the console as it comes.
fn copy(mut stdout: impl Read, console: &mut Console) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::failed(format!("the console: {error}"));
    let mut buffer = [0; 4096];
    loop {
        match stdout.read(&mut buffer).map_err(cannot)? {
            0 => return Ok(()),
            count => console.write_all(buffer.get(..count).unwrap_or_default()).map_err(cannot)?,
        }
    }
}

fn account(log: &Path) -> Result<Events, Failure> {
    let cannot = |error: std::io::Error| Failure::failed(format!("QEMU's log: {error}"));
    match std::fs::File::open(log) {
        Ok(file) => Events::read(BufReader::new(file)).map_err(cannot),
        // A machine that was refused has logged nothing.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Events::default()),
        Err(error) => Err(cannot(error)),
    }
}

fn end(console: &Console, status: ExitStatus, complaint: &str, expired: bool, watch: &Watch<'_>) -> End {
    if expired {
        return End::OutOfTime(watch.limit.unwrap_or_default());
    }
    // PSCI's power off gives 0. QEMU ends with another code, and says why, when it cannot set up what it was asked for.
    match (status.success(), console.verdict()) {
        (true, Some(verdict)) => verdict.clone(),
        (true, None) => End::Silent("the machine was turned off before the image reported a result".into()),
        (false, _) if console.is_empty() && status.code().is_some() && !complaint.is_empty() => {
            End::Refused(complaint.to_owned())
        }
        (false, _) => End::Silent(format!("QEMU ended with {status}")),
    }
}

/// Tells that the console has begun.
pub(super) type Spoke = Sender<()>;
