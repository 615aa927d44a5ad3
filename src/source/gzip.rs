//! gzip with all its members: what `gzip -dc` prints, and how far a damaged file could be read.
//!
//! Log rotation appends members (`cat a.gz b.gz`, pigz, rsyslog), a copy may end in padding or garbage. Members are
//! opened one by one because that is the only place where "another member", "padding" and "garbage" can be told
//! apart.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

/// Bytes behind the first two of a member that are not one any more.
const READ_BUFFER: usize = 256 * 1024;

/// A reader over all members of a gzip file.
pub struct GzipMembers<R: Read> {
    state: State<R>,
    /// Whether the current member has given a byte or ended well.
    started: bool,
    first_member: bool,
    compressed_read: u64,
    garbage: Option<u64>,
}

enum State<R: Read> {
    Member(Box<GzDecoder<Counted<R>>>),
    Finished,
}

/// Counts what the decoder takes, so that garbage can be measured and progress shown.
struct Counted<R: Read> {
    inner: BufReader<R>,
    consumed: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.consumed += n as u64;
        Ok(n)
    }
}

impl<R: Read> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.consumed += amount as u64;
        self.inner.consume(amount);
    }
}

impl<R: Read> GzipMembers<R> {
    /// Starts at the first member.
    pub fn new(inner: R) -> Self {
        let counted = Counted { inner: BufReader::with_capacity(READ_BUFFER, inner), consumed: 0 };
        Self {
            state: State::Member(Box::new(GzDecoder::new(counted))),
            started: false,
            first_member: true,
            compressed_read: 0,
            garbage: None,
        }
    }

    /// Bytes behind the last member that are neither a member nor zero padding; known at the end.
    #[must_use]
    pub fn trailing_garbage(&self) -> Option<u64> {
        self.garbage
    }

    /// The current member is at its end: opens the next one, or settles what stands behind the last.
    fn next_member(&mut self) -> io::Result<()> {
        let State::Member(decoder) = std::mem::replace(&mut self.state, State::Finished) else {
            return Ok(());
        };
        let mut rest = decoder.into_inner();
        self.first_member = false;
        self.compressed_read = rest.consumed;
        match rest.fill_buf()?.first() {
            Some(0x1F) => {
                self.started = false;
                self.state = State::Member(Box::new(GzDecoder::new(rest)));
            }
            Some(_) => self.measure_rest(&mut rest)?,
            None => {}
        }
        Ok(())
    }

    fn measure_rest(&mut self, rest: &mut Counted<R>) -> io::Result<()> {
        let (mut length, mut only_zeros) = (0u64, true);
        loop {
            let bytes = rest.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            only_zeros &= bytes.iter().all(|b| *b == 0);
            let n = bytes.len();
            length += n as u64;
            rest.consume(n);
        }
        self.compressed_read = rest.consumed;
        self.garbage = (!only_zeros).then_some(length);
        Ok(())
    }
}

impl<R: Read> Read for GzipMembers<R> {
    /// # Errors
    /// A cut stream is `UnexpectedEof`, a damaged one `InvalidInput` or `InvalidData`. All bytes before the damage
    /// were given by earlier calls.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let State::Member(decoder) = &mut self.state else {
                return Ok(0);
            };
            match decoder.read(buf) {
                Ok(0) if !buf.is_empty() => self.next_member()?,
                Ok(n) => {
                    self.started = true;
                    return Ok(n);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => return Err(e),
                Err(e) => {
                    // A first byte like that of a member, and no header behind it: garbage, not a damaged member.
                    let header_failed = !self.started && !self.first_member && decoder.header().is_none();
                    if header_failed {
                        let State::Member(decoder) = std::mem::replace(&mut self.state, State::Finished)
                        else {
                            return Ok(0);
                        };
                        let mut rest = decoder.into_inner();
                        let member_start = self.compressed_read;
                        self.measure_rest(&mut rest)?;
                        self.garbage = Some(self.compressed_read - member_start);
                        return Ok(0);
                    }
                    return Err(e);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn member(text: &[u8]) -> Vec<u8> {
        let mut e = GzEncoder::new(Vec::new(), Compression::fast());
        e.write_all(text).unwrap();
        e.finish().unwrap()
    }

    fn read_all(bytes: &[u8]) -> (Vec<u8>, io::Result<usize>, Option<u64>) {
        let mut reader = GzipMembers::new(bytes);
        let mut out = Vec::new();
        let result = reader.read_to_end(&mut out);
        (out, result, reader.trailing_garbage())
    }

    #[test]
    fn all_members_are_read() {
        let bytes = [member(b"one\n"), member(b""), member(b"two\n")].concat();
        let (out, result, garbage) = read_all(&bytes);
        assert_eq!((out.as_slice(), result.unwrap(), garbage), (&b"one\ntwo\n"[..], 8, None));
    }

    #[test]
    fn garbage_behind_the_last_member_is_measured_and_padding_is_not() {
        for (tail, want) in [
            (&b"sixteen bytes .."[..], Some(16)),
            (&b"\x1fis no member   "[..], Some(16)),
            (&[0u8; 512][..], None),
            (&b"\x1f"[..], Some(1)),
        ] {
            let (out, result, garbage) = read_all(&[member(b"one\n"), tail.to_vec()].concat());
            assert_eq!((out.as_slice(), result.is_ok(), garbage), (&b"one\n"[..], true, want), "{tail:?}");
        }
    }

    #[test]
    fn a_cut_stream_gives_what_came_before_and_then_an_error() {
        let text: Vec<u8> =
            (0..200_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let bytes = member(&text);
        let (out, result, _) = read_all(&bytes[..bytes.len() / 2]);
        assert!(result.is_err());
        assert!(!out.is_empty() && text.starts_with(&out));
    }
}
