//! Bytes that outlive a process: what a book asks of a file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Mutex;

/// A file that grows at its end. Tests put one in its place that loses, tears and reorders what was
/// not synced.
pub trait Storage: Send + Sync {
    /// All bytes.
    fn read(&self) -> io::Result<Vec<u8>>;

    /// Some of them.
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Vec<u8>>;

    /// Adds bytes at the end. They may be lost, in part and in any order, until they are synced.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the end off. It may come back until it is synced.
    fn cut(&mut self, length: u64) -> io::Result<()>;

    /// Returns when everything before it will survive a crash of the machine.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file of the operating system.
///
/// Every sync reaches the device, or is an error.
#[derive(Debug)]
pub struct Disk(Mutex<File>);

impl Disk {
    /// A file that was opened for reading and writing.
    pub fn new(file: File) -> Self {
        Self(Mutex::new(file))
    }

    fn with<T>(&self, work: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        // A thread that ended while it read has changed nothing but the position.
        work(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Storage for Disk {
    fn read(&self) -> io::Result<Vec<u8>> {
        self.with(|file| {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(0))?;
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        })
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        self.with(|file| {
            let mut bytes = vec![0; length];
            file.seek(SeekFrom::Start(offset))?;
            file.read_exact(&mut bytes)?;
            Ok(bytes)
        })
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.with(|file| {
            file.seek(SeekFrom::End(0))?;
            file.write_all(bytes)
        })
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.with(|file| file.set_len(length))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.with(|file| file.sync_all())
    }
}
