//! Writing of a body too long for memory to disk, while the body arrives and is sent to readers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Waker};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::file_store::FileStore;
use crate::format::HEADER;
use crate::staged_file::StagedFile;

/// Maximum number of bytes of one body that wait to be written to disk. If more wait, the fetch pauses.
pub const MAX_PENDING_BYTES: usize = 4 << 20;

/// Function that receives the complete temporary file, or `None` if it could not be written.
type SpillCallback = Box<dyn FnOnce(Option<StagedFile>) + Send>;

/// Writer of the file for a body that is too long for memory, while it is being received. Dropping it before
/// [`Self::finish`] discards the file.
pub struct SpillWriter(Arc<SpillShared>);

struct SpillShared {
    file_store: Arc<FileStore>,
    state: Mutex<SpillState>,
}

#[derive(Default)]
struct SpillState {
    queue: VecDeque<Bytes>,
    bytes: usize,
    /// Set if a job that writes pending bytes is queued or running.
    writing: bool,
    stage: Option<StagedFile>,
    given_up: bool,
    end: Option<SpillCallback>,
    waker: Option<Waker>,
}

impl SpillWriter {
    pub(crate) fn new(file_store: &Arc<FileStore>) -> Self {
        Self(Arc::new(SpillShared { file_store: Arc::clone(file_store), state: Mutex::default() }))
    }

    /// Appends a part of the body to the file. Ignored if writing the file has been given up.
    pub fn push(&self, piece: Bytes) {
        let mut state = self.0.state.lock();
        if state.given_up {
            return;
        }
        state.bytes += piece.len();
        state.queue.push_back(piece);
        self.0.continue_writing(state);
    }

    /// Returns false if writing the file was given up because of a failure.
    pub fn is_alive(&self) -> bool {
        !self.0.state.lock().given_up
    }

    /// Returns the number of bytes that wait to be written, 0 if the file was given up. The task of `cx` is woken when
    /// the number decreases, once per call.
    pub fn watch(&self, cx: &Context<'_>) -> usize {
        let mut state = self.0.state.lock();
        state.waker = Some(cx.waker().clone());
        state.bytes
    }

    /// Marks the body as complete. `end` is called once all bytes are written, with the file under its temporary name,
    /// or with `None` if writing was given up or the body is empty.
    pub fn finish(self, end: impl FnOnce(Option<StagedFile>) + Send + 'static) {
        let mut state = self.0.state.lock();
        state.end = Some(Box::new(end));
        self.0.continue_writing(state);
    }
}

impl Drop for SpillWriter {
    fn drop(&mut self) {
        if self.0.state.lock().end.is_none() {
            self.0.give_up();
        }
    }
}

impl SpillShared {
    fn continue_writing(self: &Arc<Self>, mut state: parking_lot::MutexGuard<'_, SpillState>) {
        if state.writing {
            return;
        }
        state.writing = true;
        drop(state);
        let shared = Arc::clone(self);
        if self.file_store.pool.write(0, Box::new(move || shared.write())).is_err() {
            self.give_up();
            let end = {
                let mut state = self.state.lock();
                state.writing = false;
                state.end.take()
            };
            if let Some(end) = end {
                end(None);
            }
        }
    }

    fn give_up(&self) {
        let (waker, stage) = {
            let mut state = self.state.lock();
            state.given_up = true;
            state.queue.clear();
            state.bytes = 0;
            (state.waker.take(), state.stage.take())
        };
        drop(stage);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Writes pending bytes. Calls `end` once the body is complete and written, or once it is complete and writing was
    /// given up.
    fn write(&self) {
        loop {
            let (pieces, stage) = {
                let mut state = self.state.lock();
                if state.given_up || state.queue.is_empty() {
                    state.writing = false;
                    let Some(end) = state.end.take() else { return };
                    let stage = state.stage.take().filter(|_| !state.given_up);
                    drop(state);
                    return end(stage);
                }
                (std::mem::take(&mut state.queue), state.stage.take())
            };
            let written = self.append(stage, &pieces);
            let waker = {
                let mut state = self.state.lock();
                let bytes = pieces.iter().map(Bytes::len).sum();
                state.bytes = state.bytes.saturating_sub(bytes);
                match written {
                    Some(stage) if !state.given_up => {
                        state.stage = Some(stage);
                        state.waker.take()
                    }
                    _ => {
                        drop(state);
                        self.give_up();
                        continue;
                    }
                }
            };
            waker.into_iter().for_each(Waker::wake);
        }
    }

    fn append(&self, stage: Option<StagedFile>, pieces: &VecDeque<Bytes>) -> Option<StagedFile> {
        let mut stage = match stage {
            Some(stage) => stage,
            None => StagedFile::begin(&self.file_store, HEADER as u64).ok()?,
        };
        for piece in pieces {
            stage.append(piece).ok()?;
        }
        Some(stage)
    }
}
