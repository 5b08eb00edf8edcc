//! Writing to and reading from the flights of the model.

use super::*;

impl Model {
    pub(super) fn write(&mut self) {
        if self.flying.is_empty() {
            return;
        }
        let flying = self.flying.swap_remove(self.rng.usize(..self.flying.len()));
        match flying.writing {
            Writing::Head(_) => self.write_head(flying),
            Writing::Body(..) => self.write_body(flying),
        }
    }

    pub(super) fn write_head(&mut self, flying: Flying) {
        let Flying { id, writing: Writing::Head(writer), open, .. } = flying else { return };
        let model_write = &self.writes[&id];
        match self.rng.u8(..20) {
            0 => drop(writer),
            1 => writer.fail(FetchFailure(502)),
            2 => writer.uncacheable(self.now, self.rng.u64(..40)),
            3 => _ = writer.reuse_previous(),
            4 => {
                if let Some(id) = writer.previous().map(|previous| previous.meta().id) {
                    let begun = model_write.begun;
                    let renewed = writer.renew(completion(id, self.now, self.now + 100));
                    if let (Some(Completed::Stored(_)), Some(told)) = (renewed, self.writes.get_mut(&id)) {
                        told.confirmed = begun;
                    }
                }
            }
            n => {
                let length = (n % 2 == 0).then_some(model_write.len as u64);
                let admission =
                    Admission { length, ..admission(id, selected(model_write.key, model_write.value)) };
                let body = writer.admit(admission);
                let open = open && body.state() == CollectState::Ok;
                let writing = Writing::Body(body, content(id, model_write.len));
                self.flying.push(Flying { writing, open, whole_key: false, ..flying });
            }
        }
    }

    pub(super) fn write_body(&mut self, mut flying: Flying) {
        let Writing::Body(mut body, mut rest) = flying.writing else { return };
        match self.rng.u8(..40) {
            0 => return drop(body),
            1 => return body.fail(FetchFailure(504)),
            _ => {}
        }
        if rest.is_empty() {
            return self.complete(flying.id, body);
        }
        let waker = Waker::noop();
        if body.poll_capacity(&mut Context::from_waker(waker)) == Poll::Ready(Capacity::Ready) {
            let piece: Vec<u8> = rest.drain(..self.rng.usize(1..=rest.len().min(900))).collect();
            let before = body.state();
            if body.push(piece.into()) == CollectState::Oversized {
                flying.open = false;
                self.seen.oversized += u64::from(before == CollectState::Ok);
            }
        }
        self.flying.push(Flying { writing: Writing::Body(body, rest), ..flying });
    }

    pub(super) fn complete(&mut self, id: u64, body: BodyWriter<TestPage>) {
        let fresh_until = self.now + self.rng.u64(..200);
        let model_write = &self.writes[&id];
        let covered = model_write.begun <= self.purged.get(&model_write.key).copied().unwrap_or(0)
            || model_write.begun <= last(&self.purged_groups, id);
        let softened = model_write.begun <= last(&self.softened, id);
        match body.complete(completion(id, self.now, fresh_until)) {
            Completed::Stored(object) => {
                assert!(!covered, "stored what a purge covers");
                assert!(!softened || !object.is_fresh(self.now), "stored as fresh what a soft purge covers");
                self.seen.softened += u64::from(softened);
            }
            Completed::Unstored(NotStored::Purged) => assert!(covered),
            Completed::Unstored(NotStored::Superseded) => self.seen.overtaken += 1,
            Completed::Unstored(NotStored::Oversized | NotStored::OverCap) | Completed::Spilled => {}
        }
    }

    pub(super) fn hang_up(&mut self) {
        if !self.reading.is_empty() {
            self.reading.swap_remove(self.rng.usize(..self.reading.len()));
        }
    }

    pub(super) fn read(&mut self) {
        if !self.reading.is_empty() {
            let reading = self.reading.swap_remove(self.rng.usize(..self.reading.len()));
            self.read_on(reading);
        }
    }

    /// Polls a reader once. Keeps it for later steps unless it has ended.
    pub(super) fn read_on(&mut self, mut reading: ModelReader) {
        let waker = Waker::from(Arc::clone(&reading.bell));
        let cx = &mut Context::from_waker(&waker);
        reading.waiting = None;
        let Some(id) = reading.id else { return self.read_head(reading) };
        match reading.reader.poll_chunk(cx) {
            Poll::Pending => reading.waiting = Some(reading.bell.rung()),
            Poll::Ready(Some(Err(_))) => return,
            Poll::Ready(chunk) => {
                let is_end = chunk.is_none();
                if let Some(Ok(piece)) = chunk {
                    reading.got.extend_from_slice(&piece);
                }
                let whole = content(id, self.writes[&id].len);
                assert!(whole.starts_with(&reading.got), "bytes of another writer");
                if is_end {
                    assert_eq!(reading.got.len(), whole.len());
                    self.seen.whole_bodies += 1;
                    return;
                }
            }
        }
        self.reading.push(reading);
    }

    pub(super) fn read_head(&mut self, mut reading: ModelReader) {
        let waker = Waker::from(Arc::clone(&reading.bell));
        let cx = &mut Context::from_waker(&waker);
        match reading.reader.poll_head(cx, asking(reading.value)) {
            Poll::Pending => {
                reading.waiting = Some(reading.bell.rung());
                self.reading.push(reading);
            }
            Poll::Ready(FlightHead::Head(page)) => {
                self.head_is_right(&reading, page.id);
                reading.id = Some(page.id);
                self.reading.push(reading);
            }
            Poll::Ready(FlightHead::Object(object)) => self.head_is_right(&reading, object.meta().id),
            Poll::Ready(FlightHead::Mismatch) => {
                assert!(reading.own.is_none());
                self.seen.mismatches += 1;
            }
            Poll::Ready(_) => {}
        }
    }

    pub(super) fn head_is_right(&self, reading: &ModelReader, id: u64) {
        // A purge that comes after the reader has joined does not affect the reader.
        let purged_since = self.purged.get(&reading.key).is_some_and(|&p| p > reading.joined);
        let group_since = last(&self.purged_groups, id) > reading.joined;
        if !purged_since && !group_since {
            self.may_see(id, reading.key, reading.value);
        }
    }
}
