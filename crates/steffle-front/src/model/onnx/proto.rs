//! Protocol buffers, as far as a model file needs them.

/// A message: its fields in the order in which they were put.
#[derive(Debug, Clone, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// A whole number.
    pub(super) fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    /// Bytes.
    pub(super) fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.varint((u64::from(field) << 3) | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Text.
    pub(super) fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// A message in this one.
    pub(super) fn message(self, field: u32, inner: &Self) -> Self {
        self.bytes(field, &inner.0)
    }

    /// The same field once for each.
    pub(super) fn each<T>(
        self,
        items: impl IntoIterator<Item = T>,
        put: impl Fn(Self, T) -> Self,
    ) -> Self {
        items.into_iter().fold(self, put)
    }

    /// The bytes of the message.
    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value as u8) | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the format's own description.
    #[test]
    fn fields_are_written_as_the_format_says() {
        assert_eq!(Message::default().number(1, 150).finish(), [0x08, 0x96, 0x01]);
        let testing = Message::default().text(2, "testing").finish();
        assert_eq!(testing, [&[0x12, 0x07], &b"testing"[..]].concat());
        let inner = Message::default().number(1, 150);
        assert_eq!(Message::default().message(3, &inner).finish(), [0x1a, 3, 0x08, 0x96, 0x01]);
    }
}
