//! bzip2, xz and zstd with all their streams: what `bzip2 -dc` and its like print, and how far a damaged file could be read.
//!
//! Streams (zstd calls them frames) stand one behind the other, as rotation and parallel packers leave them. They are
//! opened one by one, because only between them can another stream, padding and garbage be told apart; gzip has
//! [`super::gzip`]. Zeros between and behind them are padding, whatever the format says: copies are padded so.
//!
//! Example of its input: `BZh9...BZh9...`

use std::io::{self, BufRead, BufReader, Read};

use super::compression::Compression;

/// A file may ask for a dictionary of 4 GiB; the largest that `xz -9` makes needs 65 MiB.
const MOST_XZ_MEMORY_KB: u32 = 512 * 1024;

/// Bytes asked of a decoder at a time. One that reports damage forgets what it wrote in the same call, so fewer than this
/// many bytes before the damage are lost. Decoders alone, 14 MB of log, median of three: xz 73 MB/s in pieces of 1 KiB and
/// 77 in pieces of 512 KiB, zstd 975 and 996.
const PIECE: usize = 1024;

/// A reader over all streams of a file.
pub struct Streams<R: Read> {
    compression: Compression,
    /// The stream that is read. None behind the last one.
    decoder: Option<Decoder<R>>,
    /// Damage that is told once all bytes before it were given.
    pending: Option<io::Error>,
    garbage: Option<u64>,
}

enum Decoder<R: Read> {
    Bzip2(Box<bzip2::bufread::BzDecoder<Input<R>>>),
    Xz(Box<lzma_rust2::XzReader<Input<R>>>),
    Zstd(Box<zstd::Decoder<'static, Input<R>>>),
}

impl<R: Read> Decoder<R> {
    fn new(compression: Compression, input: Input<R>) -> io::Result<Self> {
        Ok(match compression {
            Compression::Bzip2 => Self::Bzip2(Box::new(bzip2::bufread::BzDecoder::new(input))),
            Compression::Xz => {
                Self::Xz(Box::new(lzma_rust2::XzReader::new_mem_limit(input, false, MOST_XZ_MEMORY_KB)))
            }
            Compression::Zstd => Self::Zstd(Box::new(zstd::Decoder::with_buffer(input)?.single_frame())),
            other => {
                let name = other.name();
                return Err(io::Error::new(io::ErrorKind::Unsupported, format!("{name} has no streams")));
            }
        })
    }

    fn into_input(self) -> Input<R> {
        match self {
            Self::Bzip2(decoder) => decoder.into_inner(),
            Self::Xz(decoder) => decoder.into_inner(),
            Self::Zstd(decoder) => decoder.finish(),
        }
    }
}

impl<R: Read> Streams<R> {
    /// Starts at the first stream. Asks `inner` for `read_buffer` bytes at a time.
    ///
    /// # Errors
    /// When the decoder cannot be set up, or the compression is not one of the three.
    pub fn new(compression: Compression, inner: R, read_buffer: usize) -> io::Result<Self> {
        let input = Input::new(inner, read_buffer);
        Ok(Self {
            compression,
            decoder: Some(Decoder::new(compression, input)?),
            pending: None,
            garbage: None,
        })
    }

    /// Bytes behind the last stream that are neither a stream nor zero padding; known at the end.
    #[must_use]
    pub fn trailing_garbage(&self) -> Option<u64> {
        self.garbage
    }

    /// Goes on with the next stream, or measures what stands behind the last one.
    fn next_stream(&mut self) -> io::Result<()> {
        let Some(mut input) = self.decoder.take().map(Decoder::into_input) else { return Ok(()) };
        let zeros = input.skip_zeros()?;
        let head = input.peek()?;
        if head.is_empty() {
            return Ok(());
        }
        if Compression::of(head) == self.compression {
            self.decoder = Some(Decoder::new(self.compression, input)?);
            return Ok(());
        }
        self.garbage = Some(zeros + input.skip_all()?);
        Ok(())
    }
}

impl<R: Read> Read for Streams<R> {
    /// # Errors
    /// A cut or damaged stream. All bytes before the damage were given by earlier calls, but for the piece that was asked
    /// for when it was met.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.pending.take() {
            self.decoder = None;
            return Err(error);
        }
        let most = buf.len();
        while let Some(decoder) = &mut self.decoder
            && most > 0
        {
            let read = match decoder {
                Decoder::Bzip2(decoder) => {
                    let before = decoder.total_out();
                    decoder.read(buf).or_else(|error| {
                        match usize::try_from(decoder.total_out() - before).unwrap_or(0) {
                            0 => Err(error),
                            given => {
                                self.pending = Some(error);
                                Ok(given)
                            }
                        }
                    })?
                }
                Decoder::Xz(decoder) => decoder.read(&mut buf[..most.min(PIECE)])?,
                Decoder::Zstd(decoder) => decoder.read(&mut buf[..most.min(PIECE)])?,
            };
            if read > 0 {
                return Ok(read);
            }
            self.next_stream()?;
        }
        Ok(0)
    }
}

/// A buffered reader that can look at the next bytes, however few its buffer holds.
struct Input<R> {
    inner: BufReader<R>,
    head: [u8; Compression::HEAD],
    at: usize,
    end: usize,
}

impl<R: Read> Input<R> {
    fn new(inner: R, read_buffer: usize) -> Self {
        let inner = BufReader::with_capacity(read_buffer, inner);
        Self { inner, head: [0; Compression::HEAD], at: 0, end: 0 }
    }

    /// The next bytes; fewer than [`Compression::HEAD`] only where no more follow.
    fn peek(&mut self) -> io::Result<&[u8]> {
        self.head.copy_within(self.at..self.end, 0);
        (self.at, self.end) = (0, self.end - self.at);
        while self.end < self.head.len() {
            match self.inner.read(&mut self.head[self.end..]) {
                Ok(0) => break,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(&self.head[..self.end])
    }

    /// Skips zeros and counts them.
    fn skip_zeros(&mut self) -> io::Result<u64> {
        self.skip(|byte| byte == 0)
    }

    /// Skips everything and counts it.
    fn skip_all(&mut self) -> io::Result<u64> {
        self.skip(|_| true)
    }

    fn skip(&mut self, is_skipped: fn(u8) -> bool) -> io::Result<u64> {
        let mut count = 0;
        loop {
            let bytes = match self.fill_buf() {
                Ok(bytes) => bytes,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            let length = bytes.iter().take_while(|byte| is_skipped(**byte)).count();
            let ends = length < bytes.len() || length == 0;
            self.consume(length);
            count += length as u64;
            if ends {
                return Ok(count);
            }
        }
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.at == self.end {
            return self.inner.read(buf);
        }
        let length = buf.len().min(self.end - self.at);
        buf[..length].copy_from_slice(&self.head[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

impl<R: Read> BufRead for Input<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at < self.end { Ok(&self.head[self.at..self.end]) } else { self.inner.fill_buf() }
    }

    fn consume(&mut self, length: usize) {
        if self.at < self.end {
            self.at = self.end.min(self.at + length);
        } else {
            self.inner.consume(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const ALL: [Compression; 3] = [Compression::Bzip2, Compression::Xz, Compression::Zstd];

    fn packed(compression: Compression, text: &[u8]) -> Vec<u8> {
        match compression {
            Compression::Bzip2 => {
                let mut e = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                e.write_all(text).unwrap();
                e.finish().unwrap()
            }
            Compression::Xz => {
                let options = lzma_rust2::XzOptions::with_preset(0);
                let mut e = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
                e.write_all(text).unwrap();
                e.finish().unwrap()
            }
            _ => {
                let mut e = zstd::Encoder::new(Vec::new(), 1).unwrap();
                e.include_checksum(true).unwrap();
                e.write_all(text).unwrap();
                e.finish().unwrap()
            }
        }
    }

    /// What is given, how it ends, and the garbage.
    fn read_all(compression: Compression, bytes: &[u8]) -> (Vec<u8>, Option<io::Error>, Option<u64>) {
        let mut reader = Streams::new(compression, bytes, 100).unwrap();
        let (mut out, mut buffer) = (Vec::new(), vec![0; 1 << 20]);
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return (out, None, reader.trailing_garbage()),
                Ok(n) => out.extend_from_slice(&buffer[..n]),
                Err(e) => return (out, Some(e), reader.trailing_garbage()),
            }
        }
    }

    #[test]
    fn all_streams_are_read_with_padding_between_and_behind() {
        for kind in ALL {
            let [one, none, two] = [&b"one\n"[..], b"", b"two\n"].map(|text| packed(kind, text));
            for padding in [0, 4, 512] {
                let zeros = vec![0; padding];
                let bytes = [&one, &none, &zeros[..], &two, &zeros].concat();
                let (out, error, garbage) = read_all(kind, &bytes);
                assert_eq!((&out[..], garbage), (&b"one\ntwo\n"[..], None), "{kind:?} {padding}");
                assert!(error.is_none(), "{kind:?} {padding}: {error:?}");
            }
        }
    }

    #[test]
    fn garbage_behind_the_last_stream_is_measured() {
        for kind in ALL {
            for (tail, want) in [(&b"sixteen bytes .."[..], 16), (b"\0\0\0\0garbage", 11), (b"B", 1)] {
                let (out, error, garbage) = read_all(kind, &[&packed(kind, b"one\n")[..], tail].concat());
                assert_eq!((&out[..], garbage), (&b"one\n"[..], Some(want)), "{kind:?} {tail:?}");
                assert!(error.is_none(), "{kind:?} {tail:?}: {error:?}");
            }
        }
    }

    #[test]
    fn a_cut_or_damaged_stream_gives_what_came_before_and_then_an_error() {
        let text: Vec<u8> = (0..60_000_u32)
            .flat_map(|i| format!("{i} {}\n", i.wrapping_mul(2_654_435_761)).into_bytes())
            .collect();
        for kind in ALL {
            let (whole, next) = (packed(kind, b"one\n"), packed(kind, &text));
            let mut damaged = next.clone();
            let middle = next.len() / 2;
            damaged[middle..middle + 200].fill(0xFF);
            for second in [&next[..middle], &damaged] {
                let (out, error, _) = read_all(kind, &[&whole[..], second].concat());
                assert!(error.is_some(), "{kind:?}");
                let want = [b"one\n", &text[..]].concat();
                let same = out.iter().zip(&want).take_while(|(a, b)| a == b).count();
                // What decoders need to begin with a block is lost: 100 kB of bzip2, 128 KiB of zstd.
                assert!(same > text.len() / 2 - 200_000, "{kind:?}: only {same} of {}", want.len());
            }
        }
    }

    #[test]
    fn other_compressions_have_no_streams() {
        let error = Streams::new(Compression::Gzip, &b""[..], 100).map(drop).unwrap_err();
        assert_eq!(error.to_string(), "gzip has no streams");
    }
}
