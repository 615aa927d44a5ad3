//! Reads a URL list from a file or standard input, packed or not: lines, or one sitemap.
//!
//! Example: `urls.txt.gz` with a URL a line, or `sitemap.xml`.

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::collect::{Collector, Form};
use super::line::{Line, Lines, refusal};
use crate::error::Error;
use crate::source::compression::Compression;
use crate::source::stream::Stream;
use crate::url::{Sitemap, read_sitemap};

/// Longest line, and longest sitemap: 50 MB is what the protocol allows.
const MAX_BYTES: usize = 64 << 20;

/// Reads everything into the collector. `place` names the list in messages; `stop` becomes the number of a signal.
///
/// Behind damage (a cut or corrupt compressed file) everything before it is kept, and the damage is returned.
///
/// # Errors
/// A packing that is not known or an XML text that lists no pages (usage), or a signal.
pub fn read_list(
    mut reader: Box<dyn Read + Send>,
    place: &str,
    collector: &mut Collector,
    stop: &AtomicUsize,
) -> Result<Option<Error>, Error> {
    let mut head = Vec::new();
    let cannot = |e: &dyn std::fmt::Display| Error::usage(place, "cannot read this URL list").cause(e);
    (&mut reader).take(Compression::HEAD as u64).read_to_end(&mut head).map_err(|e| cannot(&e))?;
    let compression = Compression::of(&head);
    let whole: Box<dyn Read + Send> = Box::new(std::io::Cursor::new(head).chain(reader));
    let mut stream = Stream::open(whole, compression, MAX_BYTES).map_err(|e| cannot(&e))?;
    let mut lines = Lines::default();
    let mut buffer = Vec::new();
    let mut xml: Option<Vec<u8>> = None;
    let mut begun = false;
    while let Some(shape) = stream.next_block(&mut buffer) {
        if let Ok(signal @ 1..) = i32::try_from(stop.load(Ordering::Relaxed)) {
            return Err(Error::interrupted(signal));
        }
        let block = &buffer[shape.lines_start..shape.lines_end];
        if !begun && !block.is_empty() {
            begun = true;
            xml = is_xml(block).then(Vec::new);
        }
        match &mut xml {
            Some(text) if text.len() + block.len() > MAX_BYTES => {
                return Err(
                    Error::usage(place, "is larger than a sitemap may be").cause("at most 64 MiB are read")
                );
            }
            Some(text) => text.extend_from_slice(block),
            None => take_lines(block, &mut lines, collector),
        }
    }
    let damage = stream.damage().map(|damage| {
        Error::partial(place, format_args!("cannot be read past byte {}", damage.at_byte))
            .cause(&damage.cause)
            .hint("what came before was kept; bytes are counted after decompression")
    });
    if let Some(text) = xml {
        take_sitemap(&text, place, collector)?;
    }
    Ok(damage)
}

/// A list of URLs never begins like this.
fn is_xml(block: &[u8]) -> bool {
    let block = block.strip_prefix(b"\xef\xbb\xbf").unwrap_or(block);
    block.trim_ascii_start().starts_with(b"<")
}

fn take_lines(block: &[u8], lines: &mut Lines, collector: &mut Collector) {
    let as_seed = matches!(collector.form(), Form::Seed { .. });
    for raw in block.split_inclusive(|b| *b == b'\n') {
        let raw = raw.strip_suffix(b"\n").unwrap_or(raw);
        let line = if as_seed { seed_line(raw) } else { lines.line(raw) };
        collector.add(&line);
    }
}

/// The script takes every line for a URL, and skips what becomes empty.
fn seed_line(raw: &[u8]) -> Line<'_> {
    match std::str::from_utf8(raw).map(str::trim) {
        Err(_) => Line::Rejected("not_utf8"),
        Ok("") => Line::Blank,
        Ok(text) if text.starts_with('#') => Line::Comment,
        Ok(text) => Line::Url(text.into(), None),
    }
}

fn take_sitemap(xml: &[u8], place: &str, collector: &mut Collector) -> Result<(), Error> {
    let text = std::str::from_utf8(xml)
        .map_err(|e| Error::usage(place, "cannot read this sitemap").cause(e).hint("sitemaps are UTF-8"))?;
    match read_sitemap(text) {
        Sitemap::Pages(pages) => {
            for page in pages {
                collector.add(&match refusal(&page) {
                    Some(reason) => Line::Rejected(reason),
                    None => Line::Url(page.into(), None),
                });
            }
            Ok(())
        }
        Sitemap::Index(maps) => Err(Error::usage(place, "is an index of sitemaps, not a list of pages")
            .cause(format_args!("it names {} sitemaps, and nothing is fetched here", maps.len()))
            .hint("download them, and give each one, or all their URLs in one list")),
        Sitemap::Broken(why) => Err(Error::usage(place, "cannot read this as a sitemap").cause(why)),
    }
}
