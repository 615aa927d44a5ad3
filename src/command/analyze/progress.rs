//! The progress line of long runs, on a terminal only.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::pipeline::Progress;

/// How often the line is drawn, and how long a run goes without one.
const INTERVAL: Duration = Duration::from_millis(250);

/// Does the work, and shows how far it is.
pub(super) fn shown<T>(progress: &Progress, total: u64, wanted: bool, work: impl FnOnce() -> T) -> T {
    if !wanted || !std::io::stderr().is_terminal() {
        return work();
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let drawing = scope.spawn(|| draw(progress, total, &done));
        let result = work();
        done.store(true, Ordering::Relaxed);
        drawing.thread().unpark();
        result
    })
}

fn draw(progress: &Progress, total: u64, done: &AtomicBool) {
    let mut bar = None;
    loop {
        std::thread::park_timeout(INTERVAL);
        if done.load(Ordering::Relaxed) {
            break;
        }
        let bar = bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            let style = "reading {bytes}/{total_bytes} {wide_bar} {bytes_per_sec} {msg}";
            if let Ok(style) = ProgressStyle::with_template(style) {
                bar.set_style(style);
            }
            bar
        });
        bar.set_position(progress.bytes.load(Ordering::Relaxed).min(total));
        bar.set_message(format!("{} lines", progress.lines.load(Ordering::Relaxed)));
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}
