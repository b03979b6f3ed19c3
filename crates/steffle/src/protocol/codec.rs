//! Little-endian bytes, lengths before contents, every read checked.

/// Why bytes were refused.
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
    /// The contents do not fit together.
    #[error("the message's parts do not fit: {0}")]
    Shape(String),
}

/// A value that can be put into a message.
pub trait Encode {
    /// Appends the value.
    fn encode(&self, writer: &mut Writer);

    /// About how many bytes it takes, so that writing it seldom moves what was written.
    fn size_hint(&self) -> usize {
        1000
    }
}

/// A value that can be read from a message.
pub trait Decode: Sized {
    /// Reads the value; refuses what [`Encode`] could not have written.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError>;
}

/// Bytes being written.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// With room for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// The bytes.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// Two bytes.
    pub fn u16(&mut self, value: u16) {
        self.raw(&value.to_le_bytes());
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    /// A number.
    pub fn f64(&mut self, value: f64) {
        self.raw(&value.to_le_bytes());
    }

    /// A count, then one item after the other.
    pub fn list<T: Copy, const N: usize>(&mut self, items: &[T], bytes: impl Fn(T) -> [u8; N]) {
        self.u64(items.len() as u64);
        let start = self.0.len();
        self.0.resize(start + N * items.len(), 0);
        for (slot, &item) in self.0[start..].as_chunks_mut::<N>().0.iter_mut().zip(items) {
            *slot = bytes(item);
        }
    }

    /// A count, then numbers.
    pub fn f64s(&mut self, values: &[f64]) {
        self.list(values, f64::to_le_bytes);
    }
}

/// Bytes being read.
#[derive(Debug)]
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
        let count = usize::try_from(self.u64()?).unwrap_or(usize::MAX);
        let bytes = self.raw(count.saturating_mul(N))?;
        Ok(bytes.as_chunks::<N>().0.iter().map(|&chunk| item(chunk)).collect())
    }

    /// A count, then numbers.
    pub fn f64s(&mut self) -> Result<Vec<f64>, CodecError> {
        self.list(f64::from_le_bytes)
    }
}
