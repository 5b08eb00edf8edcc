//! Numbers of listening sockets, and their assignment to worker threads.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use super::worker_command::{ListenSocket, WorkerCommand, WorkerQuicSockets};
use super::worker_thread::WorkerThread;
use crate::quic::Quic;
use crate::streams::StreamRuntime;
use myriad_exchange::runtime::Runtime;

/// Assigns a number to the address of each socket; an address retains its number over reloads. New addresses are added
/// to `numbers`.
pub(super) fn assign_numbers(
    listeners: Vec<(String, OwnedFd)>,
    numbers: &mut HashMap<String, u32>,
) -> Vec<ListenSocket> {
    listeners
        .into_iter()
        .map(|(name, descriptor)| {
            let next = numbers.len() as u32;
            ListenSocket { number: *numbers.entry(name).or_insert(next), descriptor }
        })
        .collect()
}

/// Makes every worker run a configuration, and waits until all have started it, or one has failed. If an address has
/// several sockets (`reuseport`), they are distributed among the workers; a single socket is shared by all. No worker
/// gets the configuration if a descriptor cannot be duplicated.
pub(super) fn run_on_workers(
    workers: &[WorkerThread],
    (runtime, streams): (&Arc<Runtime>, Option<&Arc<StreamRuntime>>),
    sockets: &[ListenSocket],
    quic: &mut Quic,
    tunnels_end: Option<Duration>,
) -> std::io::Result<()> {
    let (done, started) = mpsc::channel();
    let mut commands = Vec::with_capacity(workers.len());
    for index in 0..workers.len() {
        let (mut own, mut datagrams) = (Vec::new(), Vec::new());
        let mut own_quic: Vec<WorkerQuicSockets> = Vec::new();
        for (position, socket) in sockets.iter().enumerate() {
            let twins = sockets.iter().filter(|twin| twin.number == socket.number).count();
            let rank = sockets[..position].iter().filter(|twin| twin.number == socket.number).count();
            if twins == 1 || rank % workers.len() == index % twins.min(workers.len()) {
                let descriptor = socket.descriptor.try_clone()?;
                if streams.is_some_and(|streams| streams.is_datagram(socket.number)) {
                    datagrams.push(ListenSocket { number: socket.number, descriptor });
                    continue;
                }
                let Some(listener) = runtime.quic_listener(socket.number) else {
                    own.push(ListenSocket { number: socket.number, descriptor });
                    continue;
                };
                match own_quic.iter_mut().find(|known| known.place.number == socket.number) {
                    Some(known) => known.descriptors.push(descriptor),
                    None => own_quic.push(WorkerQuicSockets {
                        descriptors: vec![descriptor],
                        place: quic.place(socket.number, listener, (index, workers.len()), twins),
                    }),
                }
            }
        }
        commands.push(WorkerCommand::Run {
            runtime: Arc::clone(runtime),
            streams: streams.cloned(),
            sockets: own,
            quic: own_quic,
            datagrams,
            tunnels_end,
            done: done.clone(),
        });
    }
    drop(done);
    for (worker, command) in workers.iter().zip(commands) {
        // Fails if the worker has exited; its sender of `done` is then dropped, which is reported below.
        let _ = worker.commands.send(command);
    }
    for _ in workers {
        started.recv().map_err(|_| std::io::Error::other("a worker thread has stopped"))??;
    }
    Ok(())
}
