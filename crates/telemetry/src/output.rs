//! Standard error, to which log lines are written one by one or in batches.
//!
//! A server writes its lines in batches, from a thread of its own, so that no request waits for the reader of the log
//! or makes a system call for its line. No line is lost when the program ends; lines that their reader does not take
//! are bounded and counted.

use std::{
    io::{self, Write},
    mem,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tracing_subscriber::fmt::MakeWriter;

/// Largest size of all pending lines in bytes. Further lines are dropped.
const MAX_PENDING_BYTES: usize = 8 << 20;
/// Time for which lines are gathered before they are written.
const GATHERING_TIME: Duration = Duration::from_millis(2);
/// Longest time for which the end of a program waits for the reader of its log.
const LONGEST_END: Duration = Duration::from_secs(5);
/// Size in bytes down to which the memory of a batch is released.
const KEPT_BYTES: usize = 64 * 1024;

/// Lines of this program.
static QUEUE: LineQueue = LineQueue::new();

/// Lines that are not written yet.
#[derive(Debug)]
struct LineQueue {
    pending: Mutex<PendingLines>,
    changed: Condvar,
    dropped: AtomicU64,
}

#[derive(Debug)]
struct PendingLines {
    /// True while a thread writes the lines.
    is_batched: bool,
    /// True once the program ended without a reader of its lines: nobody waits for that reader again.
    is_abandoned: bool,
    bytes: Vec<u8>,
}

/// Returns the number of log lines dropped since the program started, because too many were pending.
#[must_use]
pub fn dropped_lines() -> u64 {
    QUEUE.dropped.load(Ordering::Relaxed)
}

/// Guard of a program that writes its log lines in batches. Dropping the guard writes all pending lines; later lines are
/// written one by one. If nobody reads them for five seconds then, they are left, so that a program whose log is not read
/// ends too.
#[derive(Debug)]
#[must_use = "lines are written in batches until the guard is dropped"]
pub struct BatchedLines {
    writer: Option<JoinHandle<()>>,
}

/// Starts to write log lines in batches, from a thread of its own. If the system has no thread, lines are written one
/// by one as before.
pub fn batch_lines() -> BatchedLines {
    QUEUE.lock().is_batched = true;
    let run = || QUEUE.write_batches(&mut io::stderr());
    let writer = thread::Builder::new().name("log".to_owned()).spawn(run).ok();
    let batched = BatchedLines { writer };
    if batched.writer.is_none() {
        QUEUE.end();
    }
    batched
}

impl Drop for BatchedLines {
    fn drop(&mut self) {
        QUEUE.end();
        if let Some(writer) = self.writer.take() {
            QUEUE.wait_for(writer, LONGEST_END);
        }
    }
}

impl LineQueue {
    const fn new() -> Self {
        Self {
            pending: Mutex::new(PendingLines {
                is_batched: false,
                is_abandoned: false,
                bytes: Vec::new(),
            }),
            changed: Condvar::new(),
            dropped: AtomicU64::new(0),
        }
    }

    /// Adds a line. Returns false if lines are written one by one.
    fn push(&self, line: &[u8]) -> bool {
        let mut pending = self.lock();
        if pending.is_abandoned {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        if !pending.is_batched {
            return false;
        }
        if pending.bytes.len() + line.len() > MAX_PENDING_BYTES {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        let was_empty = pending.bytes.is_empty();
        pending.bytes.extend_from_slice(line);
        drop(pending);
        if was_empty {
            self.changed.notify_one();
        }
        true
    }

    /// Writes lines to `sink` until [`Self::end`], and then those that are left.
    fn write_batches(&self, sink: &mut impl Write) {
        let (mut batch, mut reported) = (Vec::new(), self.dropped.load(Ordering::Relaxed));
        let mut is_cut = false;
        loop {
            let pending = self.lock();
            let is_waiting =
                |pending: &mut PendingLines| pending.is_batched && pending.bytes.is_empty();
            let pending = self
                .changed
                .wait_while(pending, is_waiting)
                .unwrap_or_else(PoisonError::into_inner);
            let gathered = self
                .changed
                .wait_timeout_while(pending, GATHERING_TIME, |pending| pending.is_batched);
            let (mut pending, _) = gathered.unwrap_or_else(PoisonError::into_inner);
            mem::swap(&mut batch, &mut pending.bytes);
            let is_last = !pending.is_batched;
            drop(pending);
            if is_cut {
                // The line that an error cut ends, so that the next one is whole.
                is_cut = !write_whole(sink, b"\n").is_empty();
            }
            let unwritten = write_whole(sink, &batch);
            if !unwritten.is_empty() {
                is_cut = unwritten.len() < batch.len();
                let lines = unwritten.split_inclusive(|byte| *byte == b'\n').count();
                let lines = u64::try_from(lines).unwrap_or(u64::MAX);
                self.dropped.fetch_add(lines, Ordering::Relaxed);
            }
            batch.clear();
            batch.shrink_to(KEPT_BYTES);
            let dropped = self.dropped.load(Ordering::Relaxed);
            if dropped > reported {
                let lines = dropped - mem::replace(&mut reported, dropped);
                tracing::warn!(lines, "dropped log lines: standard error was not read in time");
            }
            if is_last {
                return;
            }
        }
    }

    /// Ends [`Self::write_batches`].
    fn end(&self) {
        self.lock().is_batched = false;
        self.changed.notify_all();
    }

    /// Waits until the writer has written what is left, but not for longer than `longest`.
    fn wait_for(&self, writer: JoinHandle<()>, longest: Duration) {
        let begun = Instant::now();
        while !writer.is_finished() && begun.elapsed() < longest {
            thread::sleep(GATHERING_TIME);
        }
        if writer.is_finished() {
            // A writer that panicked has nothing left to write.
            let _ = writer.join();
        } else {
            self.lock().is_abandoned = true;
        }
    }

    fn lock(&self) -> MutexGuard<'_, PendingLines> {
        // Every change is a single step, so that the state after a panic is consistent.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes bytes, and returns those that could not be written. A sink that takes none for now is asked again.
fn write_whole<'a>(sink: &mut impl Write, bytes: &'a [u8]) -> &'a [u8] {
    let mut rest = bytes;
    while !rest.is_empty() {
        match sink.write(rest) {
            Ok(0) => break,
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                thread::sleep(GATHERING_TIME);
            }
            Err(_) => break,
        }
    }
    rest
}

/// Writer of whole lines to standard error.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineWriter;

impl<'a> MakeWriter<'a> for LineWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self
    }
}

impl Write for LineWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if !QUEUE.push(line) {
            io::stderr().write_all(line)?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    };

    use super::*;

    /// Sink whose writes wait for its reader.
    struct SlowSink(Sender<Vec<u8>>, Receiver<()>);

    impl Write for SlowSink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.send(bytes.to_vec());
            let _ = self.1.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn batched() -> Arc<LineQueue> {
        let queue = Arc::new(LineQueue::new());
        queue.lock().is_batched = true;
        queue
    }

    #[test]
    fn lines_of_many_threads_are_written_whole_and_none_is_lost_at_the_end() {
        let queue = batched();
        let writing = Arc::clone(&queue);
        let writer = thread::spawn(move || {
            let mut sink = Vec::new();
            writing.write_batches(&mut sink);
            sink
        });
        thread::scope(|scope| {
            for thread in 0..4 {
                let queue = &queue;
                scope.spawn(move || {
                    for number in 0..1_000 {
                        assert!(queue.push(format!("{thread} {number}\n").as_bytes()));
                    }
                });
            }
        });
        queue.end();
        let written = String::from_utf8(writer.join().unwrap()).unwrap();
        for thread in 0..4 {
            let prefix = format!("{thread} ");
            let numbers = written.lines().filter_map(|line| line.strip_prefix(&prefix));
            let expected = (0..1_000).map(|number| number.to_string());
            assert!(numbers.eq(expected), "each thread's lines are in order");
        }
        assert!(!queue.push(b"later"), "later lines are written one by one");
    }

    /// Sink that takes four bytes at a time, is busy now and then, and fails once after twelve bytes.
    #[derive(Default)]
    struct FaultySink {
        taken: Vec<u8>,
        calls: u32,
        has_failed: bool,
    }

    impl Write for FaultySink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.calls += 1;
            if self.calls.is_multiple_of(2) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            if self.taken.len() >= 12 && !self.has_failed {
                self.has_failed = true;
                return Err(io::ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(4);
            self.taken.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_failed_write_loses_only_lines_that_are_counted_and_cuts_no_later_one() {
        let queue = batched();
        // Given two batches, of which the first fails within its second line,
        assert!(queue.push(b"first line\nsecond line\nthird\n"));
        let mut sink = FaultySink::default();
        thread::scope(|scope| {
            let sink = &mut sink;
            let writer = scope.spawn(|| queue.write_batches(sink));
            while queue.dropped.load(Ordering::Relaxed) < 2 {
                thread::yield_now();
            }
            assert!(queue.push(b"later\n"));
            queue.end();
            writer.join().unwrap();
        });
        // then its other lines are counted, and the line of the second is whole.
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 2);
        assert_eq!(String::from_utf8(sink.taken).unwrap(), "first line\ns\nlater\n");
    }

    #[test]
    fn a_program_whose_log_is_not_read_ends_all_the_same() {
        let queue = batched();
        let (written, batches) = channel();
        let (_read, may_continue) = channel();
        let writing = Arc::clone(&queue);
        let writer =
            thread::spawn(move || writing.write_batches(&mut SlowSink(written, may_continue)));
        // Given a reader that never takes the first batch,
        assert!(queue.push(b"first\n"));
        assert_eq!(batches.recv().unwrap(), b"first\n");
        // when the program ends, then it does not wait for the reader, now or for a later line.
        queue.end();
        queue.wait_for(writer, Duration::from_millis(20));
        assert!(queue.push(b"later\n"), "it is not written one by one");
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn lines_beyond_the_bound_are_counted_while_the_reader_waits() {
        let queue = batched();
        let (written, batches) = channel();
        let (read, may_continue) = channel();
        let writing = Arc::clone(&queue);
        let writer =
            thread::spawn(move || writing.write_batches(&mut SlowSink(written, may_continue)));
        // Given a reader that takes the first batch and no other,
        assert!(queue.push(b"first\n"));
        assert_eq!(batches.recv().unwrap(), b"first\n");
        // when more lines arrive than are held,
        let line = vec![b'x'; MAX_PENDING_BYTES / 4];
        for _ in 0..6 {
            assert!(queue.push(&line), "no caller waits");
        }
        // then the rest is dropped and counted, and the others are written.
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 2);
        queue.end();
        drop(read);
        assert_eq!(batches.recv().unwrap().len(), MAX_PENDING_BYTES);
        writer.join().unwrap();
    }
}
