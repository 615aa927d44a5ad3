//! gzip with all its members: what `gzip -dc` prints, and how far a damaged file could be read.
//!
//! Log rotation appends members (`cat a.gz b.gz`, pigz, rsyslog), a copy may end in padding or garbage. Members are
//! opened one by one because that is the only place where "another member", "padding" and "garbage" can be told
//! apart; and the inflater is driven by hand because a reader that reports damage forgets the bytes before it.

use std::io::{self, BufRead, BufReader, Read};

use flate2::{Decompress, FlushDecompress, Status};

/// The largest window of deflate.
const WINDOW_BITS: u8 = 15;
/// The shortest member: header, an empty block, trailer.
const SHORTEST_MEMBER: u64 = 20;

/// A reader over all members of a gzip file.
pub struct GzipMembers<R: Read> {
    input: BufReader<R>,
    inflate: Decompress,
    first_member: bool,
    finished: bool,
    /// Compressed bytes of the current member that were taken.
    taken: u64,
    /// Damage that is told once all bytes before it were given.
    pending: Option<io::Error>,
    garbage: Option<u64>,
}

impl<R: Read> GzipMembers<R> {
    /// Starts at the first member. Asks `inner` for `read_buffer` bytes at a time.
    pub fn new(inner: R, read_buffer: usize) -> Self {
        Self {
            input: BufReader::with_capacity(read_buffer, inner),
            inflate: Decompress::new_gzip(WINDOW_BITS),
            first_member: true,
            finished: false,
            taken: 0,
            pending: None,
            garbage: None,
        }
    }

    /// Bytes behind the last member that are neither a member nor zero padding; known at the end.
    #[must_use]
    pub fn trailing_garbage(&self) -> Option<u64> {
        self.garbage
    }

    /// Whether what was taken since the last member can be anything but a member.
    fn no_member(&self) -> bool {
        !self.first_member && self.inflate.total_out() == 0
    }

    /// Counts what stands behind the last member. Nothing but zeros is padding, as tapes and some copies leave it.
    fn measure_rest(&mut self) -> io::Result<()> {
        let (mut length, mut only_zeros) = (self.taken, self.taken == 0);
        loop {
            let bytes = self.input.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            only_zeros &= bytes.iter().all(|b| *b == 0);
            let n = bytes.len();
            length += n as u64;
            self.input.consume(n);
        }
        self.garbage = (!only_zeros).then_some(length);
        self.finished = true;
        Ok(())
    }
}

impl<R: Read> Read for GzipMembers<R> {
    /// # Errors
    /// A cut stream is `UnexpectedEof`, a damaged one `InvalidData`. All bytes before the damage were given by earlier
    /// calls.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.pending.take() {
            self.finished = true;
            return Err(error);
        }
        while !self.finished && !buf.is_empty() {
            let (begins, no_member) = (self.taken == 0, self.no_member());
            let input = self.input.fill_buf()?;
            match input.first() {
                None if begins => self.finished = true,
                None if no_member && self.taken < SHORTEST_MEMBER => self.measure_rest()?,
                None => {
                    self.finished = true;
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the gzip stream is cut"));
                }
                Some(byte) if begins && !self.first_member && *byte != 0x1F => self.measure_rest()?,
                Some(_) => {
                    let (taken_before, given_before) = (self.inflate.total_in(), self.inflate.total_out());
                    let result = self.inflate.decompress(input, buf, FlushDecompress::None);
                    let taken = self.inflate.total_in() - taken_before;
                    let given = usize::try_from(self.inflate.total_out() - given_before).unwrap_or(buf.len());
                    self.input.consume(usize::try_from(taken).unwrap_or(0));
                    self.taken += taken;
                    match result {
                        Ok(Status::StreamEnd) => {
                            self.inflate = Decompress::new_gzip(WINDOW_BITS);
                            self.first_member = false;
                            self.taken = 0;
                        }
                        Ok(_) if taken == 0 && given == 0 => {
                            return Err(io::Error::new(
                                io::ErrorKind::InvalidData,
                                "the gzip stream stands still",
                            ));
                        }
                        Ok(_) => {}
                        Err(_) if given == 0 && self.no_member() => self.measure_rest()?,
                        Err(e) => {
                            let error = io::Error::new(io::ErrorKind::InvalidData, e);
                            if given == 0 {
                                self.finished = true;
                                return Err(error);
                            }
                            self.pending = Some(error);
                        }
                    }
                    if given > 0 {
                        return Ok(given);
                    }
                }
            }
        }
        Ok(0)
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
        let mut reader = GzipMembers::new(bytes, 4096);
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

    #[test]
    fn everything_before_damage_in_the_middle_is_given_whatever_the_size_of_the_reads() {
        let text: Vec<u8> = (0..2_000u32)
            .flat_map(|i| format!("{i} {}\n", i.wrapping_mul(2_654_435_761)).into_bytes())
            .collect();
        let mut bytes = member(&text);
        let middle = bytes.len() / 2;
        bytes[middle..middle + 200].fill(0xFF);
        let mut lengths = Vec::new();
        for size in [1, 100, 1 << 20] {
            let mut reader = GzipMembers::new(bytes.as_slice(), 4096);
            let (mut out, mut buffer) = (Vec::new(), vec![0; size]);
            let error = loop {
                match reader.read(&mut buffer) {
                    Ok(n) => out.extend_from_slice(&buffer[..n]),
                    Err(e) => break e,
                }
            };
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            let same = out.iter().zip(&text).take_while(|(a, b)| a == b).count();
            assert!(same > text.len() / 3, "only {same} of {} bytes", text.len());
            lengths.push(out.len());
        }
        assert_eq!(lengths[0], lengths[1]);
        assert_eq!(lengths[0], lengths[2]);
    }
}
