//! Little-endian bytes, lengths before contents, every read checked.

/// Why bytes were refused.
///
/// A message is refused as a whole: nothing of it is used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecError {
    /// The message ends in the middle of a value.
    #[error("message ends after {have} bytes where {need} more are needed")]
    Truncated {
        /// Bytes there are.
        have: usize,
        /// Bytes missing.
        need: usize,
    },
    /// Bytes are left over.
    #[error("{0} bytes too many at the end of the message")]
    Trailing(usize),
    /// Not a message of this program.
    #[error("these bytes are not a SteFFLe message")]
    Magic,
    /// A message of another version.
    #[error("message of protocol version {found}; this program speaks {}", super::VERSION)]
    Version {
        /// The version found.
        found: u16,
    },
    /// A tag outside its range.
    #[error("unknown {what} {found}")]
    Tag {
        /// What the tag tells.
        what: &'static str,
        /// The value found.
        found: u8,
    },
    /// The message is not the one that was expected.
    #[error("expected {expected}, got {found}")]
    Unexpected {
        /// What was expected.
        expected: String,
        /// What came.
        found: String,
    },
    /// Somebody sent what only another party may send.
    #[error(
        "{message} came from {carrier}: the server sends requests, sites send letters, each in its \
         own name"
    )]
    Sender {
        /// What came.
        message: String,
        /// The sender as the transport knows it.
        carrier: super::NodeId,
    },
    /// Not from or for this party, or of a time that is over.
    #[error("{0}")]
    Order(String),
    /// The contents do not fit together.
    #[error("the message's parts do not fit: {0}")]
    Shape(String),
}

/// A value that can be put into a message.
///
/// Every type has one form in bytes, the same on every machine.
pub trait Encode {
    /// Appends the value.
    fn encode(&self, writer: &mut Writer);

    /// About how many bytes it takes, so that writing it seldom moves what was written.
    fn size_hint(&self) -> usize {
        1000
    }
}

/// A value that can be read from a message.
///
/// Reading checks everything that can be checked without the data: lengths, ranges, finiteness.
pub trait Decode: Sized {
    /// Reads the value; refuses what [`Encode`] could not have written.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError>;

    /// Reads the value in place of an old one, in whose room it may lie. Where it is refused, what is
    /// left is neither.
    fn decode_over(&mut self, reader: &mut Reader<'_>) -> Result<(), CodecError> {
        *self = Self::decode(reader)?;
        Ok(())
    }
}

/// Bytes being written.
///
/// Numbers are little-endian; lists begin with their length.
#[derive(Debug, Default)]
pub struct Writer {
    /// Those written, then what is left of old ones: overwriting takes less than clearing.
    bytes: Vec<u8>,
    written: usize,
}

impl Writer {
    /// With room for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self::over(Vec::with_capacity(bytes))
    }

    /// In the room of old bytes, and of what they were.
    pub fn over(room: Vec<u8>) -> Self {
        Self { bytes: room, written: 0 }
    }

    /// The bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.truncate(self.written);
        self.bytes
    }

    /// Where the next bytes go.
    #[inline]
    fn next(&mut self, count: usize) -> &mut [u8] {
        let start = self.written;
        self.written += count;
        if self.bytes.len() < self.written {
            self.grow();
        }
        &mut self.bytes[start..self.written]
    }

    /// Makes the bytes as many as were written or, while that is little, as there is room for: what is
    /// written next then finds them.
    #[cold]
    fn grow(&mut self) {
        const LITTLE: usize = 1 << 16;
        self.bytes.reserve(self.written - self.bytes.len());
        let room = self.bytes.capacity().min(LITTLE);
        self.bytes.resize(self.written.max(room), 0);
    }

    /// Bytes as they are.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.next(bytes.len()).copy_from_slice(bytes);
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.raw(&[value]);
    }

    /// Two bytes.
    #[inline]
    pub fn u16(&mut self, value: u16) {
        self.raw(&value.to_le_bytes());
    }

    /// Four bytes.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    /// A count, then one value after the other.
    pub fn values<T: Encode>(&mut self, values: &[T]) {
        self.u32(values.len() as u32);
        values.iter().for_each(|value| value.encode(self));
    }

    /// A number.
    #[inline]
    pub fn f64(&mut self, value: f64) {
        self.raw(&value.to_le_bytes());
    }

    /// A count, then one item after the other.
    pub fn list<T: Copy, const N: usize>(&mut self, items: &[T], bytes: impl Fn(T) -> [u8; N]) {
        self.u64(items.len() as u64);
        let slots = self.next(N * items.len()).as_chunks_mut::<N>().0;
        slots.iter_mut().zip(items).for_each(|(slot, &item)| *slot = bytes(item));
    }

    /// A count, then numbers.
    pub fn f64s(&mut self, values: &[f64]) {
        self.list(values, f64::to_le_bytes);
    }

    /// A count, then bytes.
    pub fn blob(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.raw(bytes);
    }

    /// Words.
    pub fn text(&mut self, text: &str) {
        self.blob(text.as_bytes());
    }

    /// A count, then one list of numbers after the other.
    pub fn vectors(&mut self, vectors: &[Vec<f64>]) {
        self.u32(vectors.len() as u32);
        vectors.iter().for_each(|vector| self.f64s(vector));
    }

    /// Whether there is one, then it.
    pub fn option<T>(&mut self, value: Option<&T>, write: impl FnOnce(&mut Self, &T)) {
        self.u8(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Bytes being read.
///
/// It never reads past the end, and never makes room for more than the bytes could hold.
#[derive(Debug, Clone)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// From the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Refuses bytes that nobody read.
    pub fn end(self) -> Result<(), CodecError> {
        if self.0.is_empty() { Ok(()) } else { Err(CodecError::Trailing(self.0.len())) }
    }

    /// What nobody has read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// The next `count` bytes.
    pub fn raw(&mut self, count: usize) -> Result<&'a [u8], CodecError> {
        let missing =
            CodecError::Truncated { have: self.0.len(), need: count.saturating_sub(self.0.len()) };
        let (head, rest) = self.0.split_at_checked(count).ok_or(missing)?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let mut array = [0; N];
        array.copy_from_slice(self.raw(N)?);
        Ok(array)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, CodecError> {
        self.array().map(u8::from_le_bytes)
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16, CodecError> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32, CodecError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64, CodecError> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number.
    pub fn f64(&mut self) -> Result<f64, CodecError> {
        self.array().map(f64::from_le_bytes)
    }

    /// What [`Writer::list`] wrote. The count is checked against the bytes before memory is taken.
    pub fn list<T, const N: usize>(
        &mut self,
        item: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>, CodecError> {
        Ok(self.items()?.iter().map(|&chunk| item(chunk)).collect())
    }

    /// The same, in place of an old one.
    pub fn list_over<T, const N: usize>(
        &mut self,
        into: &mut Vec<T>,
        item: impl Fn([u8; N]) -> T,
    ) -> Result<(), CodecError> {
        into.clear();
        into.extend(self.items()?.iter().map(|&chunk| item(chunk)));
        Ok(())
    }

    /// The same, as it lies there.
    pub fn items<const N: usize>(&mut self) -> Result<&'a [[u8; N]], CodecError> {
        let count = usize::try_from(self.u64()?).unwrap_or(usize::MAX);
        Ok(self.raw(count.saturating_mul(N))?.as_chunks().0)
    }

    /// A count, then numbers.
    pub fn f64s(&mut self) -> Result<Vec<f64>, CodecError> {
        self.list(f64::from_le_bytes)
    }

    /// A count, then bytes.
    pub fn blob(&mut self) -> Result<&'a [u8], CodecError> {
        let count = usize::try_from(self.u64()?).unwrap_or(usize::MAX);
        self.raw(count)
    }

    /// Words; refuses what is not text.
    pub fn text(&mut self) -> Result<String, CodecError> {
        let text = std::str::from_utf8(self.blob()?);
        text.map(str::to_owned).map_err(|_| CodecError::Shape("a word is not UTF-8".to_owned()))
    }

    /// Yes or no.
    pub fn flag(&mut self, what: &'static str) -> Result<bool, CodecError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            found => Err(CodecError::Tag { what, found }),
        }
    }

    /// What [`Writer::option`] wrote.
    pub fn option<T>(
        &mut self,
        what: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, CodecError>,
    ) -> Result<Option<T>, CodecError> {
        if self.flag(what)? { read(self).map(Some) } else { Ok(None) }
    }

    /// A count, then as many values. Memory is taken as they come: a count is only a word.
    pub fn values<T: Decode>(&mut self) -> Result<Vec<T>, CodecError> {
        let count = self.u32()?;
        (0..count).map(|_| T::decode(self)).collect()
    }

    /// A count, then as many lists of numbers, in place of old ones. Memory is taken as they come.
    pub fn vectors_over(&mut self, into: &mut Vec<Vec<f64>>) -> Result<(), CodecError> {
        let count = self.u32()? as usize;
        into.truncate(count);
        for own in &mut *into {
            self.list_over(own, f64::from_le_bytes)?;
        }
        for _ in into.len()..count {
            into.push(self.f64s()?);
        }
        Ok(())
    }

    /// A count, then as many lists of numbers.
    pub fn vectors(&mut self) -> Result<Vec<Vec<f64>>, CodecError> {
        let count = self.u32()?;
        (0..count).map(|_| self.f64s()).collect()
    }

    /// Thirty-two bytes.
    pub fn hash(&mut self) -> Result<[u8; 32], CodecError> {
        self.array()
    }
}

/// A whole message of one value, in the room of an old one. Where it is refused, the old one is gone.
pub fn decode_in<T: Decode>(old: Option<T>, mut reader: Reader<'_>) -> Result<T, CodecError> {
    let Some(mut value) = old else { return decode(reader) };
    value.decode_over(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// A whole message of one value.
pub fn decode<T: Decode>(mut reader: Reader<'_>) -> Result<T, CodecError> {
    let value = T::decode(&mut reader)?;
    reader.end()?;
    Ok(value)
}
