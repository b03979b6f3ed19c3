//! `train --transcript`: everything that is asked and answered, in a file.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use steffle_audit::transcript::Recorder;
use steffle_front::Study;

use crate::failure::Failure;
use crate::staged::Staged;

/// A transcript that is being written.
pub(super) struct Recording {
    path: PathBuf,
    staged: Staged,
    recorder: Recorder<BufWriter<File>>,
}

impl Recording {
    /// Has the next run of a study recorded.
    pub(super) fn start(path: &Path, study: &Study) -> Result<Self, Failure> {
        let (staged, file) = Staged::file(path)?;
        let recorder = Recorder::new(BufWriter::new(file));
        let recorder = recorder.map_err(|error| Failure::at(path, &error))?;
        study.overhear(recorder.witness());
        Ok(Self { path: path.to_path_buf(), staged, recorder })
    }

    /// Puts the file in its place, with its checksum.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.recorder.finish().map_err(|error| Failure::at(&self.path, &error))?;
        self.staged.commit()
    }
}
