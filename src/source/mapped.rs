//! Windows of a plain file in memory, without a copy of its bytes. What is in them is for [`super::plain`] to say.
//!
//! Mapping saves the copy out of the page cache: 0.02 to 0.07 s of system time where reading in blocks of 1 MiB takes
//! 0.09 to 0.14 s, for 1 GB of cached log, each looked through twice. In whole runs on a busy machine that was inside the
//! noise. It has one danger: when the file is cut while it is mapped, touching a page that is gone raises SIGBUS, which
//! ends a process that does not expect it. Here the handler puts a page of zeros in that place and marks the window as
//! torn, and the thread goes on. Whoever used a torn window must throw away what it made of it ([`Window::is_torn`]): the
//! pipeline counts the whole log again by reading.
//!
//! Only settled files are mapped (not modified within the last minute), so both are rare. Example of use: bytes 1 MiB to
//! 2 MiB of `access.log.1`, mapped for the time that one thread counts their lines.

#![allow(unsafe_code, reason = "mapping and its signal handler; every block says why it is sound")]

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Windows that may be open at once: one per thread is usual, and there are at most 256 threads.
const SLOTS: usize = 512;

/// Where the handler finds the windows. Nothing here is locked: a handler must not wait.
struct Slot {
    /// 0: free.
    start: AtomicUsize,
    end: AtomicUsize,
    torn: AtomicBool,
}

static WINDOWS: [Slot; SLOTS] =
    [const { Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), torn: AtomicBool::new(false) } };
        SLOTS];

/// What handled SIGBUS before; `None` when the handler could not be set, and then nothing is mapped.
static BEFORE: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// Some bytes of a file, mapped until this is dropped.
#[derive(Debug)]
pub struct Window {
    slot: usize,
    address: usize,
    mapped: usize,
    /// Where in the mapping the bytes that were asked for begin, and how many they are.
    skip: usize,
    length: usize,
}

impl Window {
    /// Maps `length` bytes at `offset`. Both must lie within the file as it is now; what lies behind its end later reads
    /// as zeros.
    ///
    /// # Errors
    /// The system maps no more, or too many windows are open: the caller reads instead.
    pub fn new(file: &File, offset: u64, length: usize) -> io::Result<Self> {
        if handler().is_none() || length == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let page = page_bytes();
        let skip = usize::try_from(offset % page as u64).unwrap_or(0);
        let mapped = length.checked_add(skip).ok_or(io::ErrorKind::InvalidInput)?;
        let from = libc::off_t::try_from(offset - skip as u64).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: a new mapping at an address of the system's choice touches no memory that is in use; the arguments are
        // checked by the system, and the descriptor is open for the call.
        let address = unsafe {
            libc::mmap(
                ptr::null_mut(),
                mapped,
                libc::PROT_READ,
                libc::MAP_PRIVATE | populate(),
                file.as_raw_fd(),
                from,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = address as usize;
        match claim(&WINDOWS, address, mapped) {
            Some(slot) => Ok(Self { slot, address, mapped, skip, length }),
            None => {
                unmap(address, mapped);
                Err(io::ErrorKind::QuotaExceeded.into())
            }
        }
    }

    /// The bytes that were asked for.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the range is mapped and readable until `self` is dropped, and stays so when the file is cut: the handler
        // maps zeros there before the access is tried again. That another process may write to the file meanwhile is
        // the caller's to notice; nothing that reads these bytes relies on two looks being equal for memory safety,
        // since all of it is bounds-checked code that loads bytes.
        unsafe { std::slice::from_raw_parts((self.address + self.skip) as *const u8, self.length) }
    }

    /// Whether a page was gone when it was touched: what was read may be zeros that the file never held.
    #[must_use]
    pub fn is_torn(&self) -> bool {
        WINDOWS[self.slot].torn.load(Ordering::Acquire)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // Out of the table first: once it is unmapped, the next window may be given the same addresses.
        WINDOWS[self.slot].end.store(0, Ordering::Release);
        WINDOWS[self.slot].start.store(0, Ordering::Release);
        unmap(self.address, self.mapped);
    }
}

/// All pages at once where the system can: a fault per page costs more than the copy that mapping saves.
fn populate() -> c_int {
    #[cfg(target_os = "linux")]
    {
        libc::MAP_POPULATE
    }
    #[cfg(not(target_os = "linux"))]
    {
        0
    }
}

fn unmap(address: usize, mapped: usize) {
    // SAFETY: called once for each mapping that `Window::new` made, with its own length, when no slice of it is left.
    let result = unsafe { libc::munmap(address as *mut c_void, mapped) };
    debug_assert_eq!(result, 0);
}

fn claim(slots: &[Slot], address: usize, mapped: usize) -> Option<usize> {
    let slot = slots.iter().position(|slot| {
        slot.start.compare_exchange(0, address, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    })?;
    slots[slot].torn.store(false, Ordering::Release);
    slots[slot].end.store(address + mapped, Ordering::Release);
    Some(slot)
}

fn page_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        // SAFETY: asks for a constant of the system.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(4096)
    })
}

/// Sets the handler at the first call.
fn handler() -> Option<&'static libc::sigaction> {
    BEFORE
        .get_or_init(|| {
            page_bytes();
            let mut before = MaybeUninit::<libc::sigaction>::uninit();
            // SAFETY: an action of zeros is a valid value; the two calls write whole structures. The handler does only
            // what a handler may: atomics, `mmap`, `sigaction`.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_bus_error as *const () as usize;
                // On the stack for signals, which the runtime has set up for its threads.
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&raw mut action.sa_mask);
                if libc::sigaction(libc::SIGBUS, &raw const action, before.as_mut_ptr()) != 0 {
                    return None;
                }
                Some(before.assume_init())
            }
        })
        .as_ref()
}

extern "C" fn on_bus_error(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the system passes a valid pointer to the handler of a SA_SIGINFO action.
    let at = unsafe { (*info).si_addr() } as usize;
    for slot in &WINDOWS {
        let (start, end) = (slot.start.load(Ordering::Acquire), slot.end.load(Ordering::Acquire));
        if start == 0 || at < start || at >= end {
            continue;
        }
        slot.torn.store(true, Ordering::Release);
        let page = at - at % page_bytes();
        // SAFETY: the range is inside a mapping of this module that its thread holds open at this moment, because that
        // thread is the one that touched it; zeros take the place of pages that cannot be read any more.
        let zeros = unsafe {
            libc::mmap(
                page as *mut c_void,
                end - page,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        if zeros != libc::MAP_FAILED {
            return;
        }
    }
    // None of ours: as it was before, and the access is tried again.
    let before = BEFORE.get().and_then(Option::as_ref);
    // SAFETY: sets back an action that the system gave, or the default, which is all zeros.
    unsafe {
        let default: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, before.map_or(&raw const default, ptr::from_ref), ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn a_window_holds_the_bytes_that_were_asked_for_wherever_they_begin() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|i| u8::try_from(i % 251).unwrap()).collect();
        let file = file_of(&bytes);
        for (offset, length) in [(0, 1), (0, 100_000), (1, 99_999), (4095, 2), (4096, 4096), (70_001, 29_999)]
        {
            let window = Window::new(&file, offset as u64, length).unwrap();
            assert_eq!(window.bytes(), &bytes[offset..offset + length]);
            assert!(!window.is_torn());
        }
        assert!(Window::new(&file, 0, 0).is_err());
    }

    #[test]
    fn a_file_that_is_cut_under_its_window_reads_as_zeros_and_the_window_says_so() {
        let file = file_of(&vec![b'x'; 1 << 20]);
        let cut = Window::new(&file, 4096, (1 << 20) - 4096).unwrap();
        let kept = Window::new(&file, 0, 5).unwrap();
        file.set_len(8192).unwrap();
        assert_eq!(&cut.bytes()[..4096], &[b'x'; 4096][..]);
        assert!(!cut.is_torn());
        assert!(cut.bytes()[4096..].iter().all(|b| *b == 0));
        assert!(cut.is_torn());
        assert_eq!(kept.bytes(), b"xxxxx");
        assert!(!kept.is_torn());
        // Its place in the table is free again, and not torn for the next one.
        drop(cut);
        assert!(!Window::new(&file, 0, 8192).unwrap().is_torn());
    }

    #[test]
    fn more_windows_than_places_is_an_answer_and_not_a_crash() {
        let free =
            || Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), torn: AtomicBool::new(true) };
        let slots = [free(), free()];
        assert_eq!(claim(&slots, 4096, 10), Some(0));
        assert_eq!(claim(&slots, 8192, 10), Some(1));
        assert_eq!(claim(&slots, 12_288, 10), None);
        assert_eq!(slots[1].end.load(Ordering::Acquire), 8202);
        assert!(!slots[1].torn.load(Ordering::Acquire));
    }
}
