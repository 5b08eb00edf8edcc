//! Requests of a worker process for actions that it has no right to perform: storing a file, recreating a folder. Only
//! files and folders that the configuration names are accepted.

use crate::generation::ServerGeneration;
use crate::handover::{decode_file, decode_paths};
use crate::state;
use myriad_cli::pidfile::reason;

/// Maximum length of a file that a worker may have stored, in bytes. A certificate chain with its key has some
/// kilobytes.
const LARGEST: usize = 256 << 10;

/// Writes a file that a worker requests to store, if one of the configurations names it and it is not longer than
/// [`LARGEST`]. Otherwise, or if writing fails, returns an error text for the log.
pub(crate) fn store_file(generations: &[&ServerGeneration], payload: &[u8]) -> Result<(), String> {
    let Some((path, bytes)) = decode_file(payload) else {
        return Err("a worker process sent an invalid request to store a file".to_owned());
    };
    let is_named = generations.iter().any(|generation| generation.state.contains(&path));
    if !is_named || bytes.len() > LARGEST {
        return Err(format!(
            "a worker process requested to store \"{}\", which is not allowed, or too much data",
            path.display()
        ));
    }
    state::write(&path, &bytes)
        .map_err(|error| format!("\"{}\" could not be stored: {}", path.display(), reason(&error)))
}

/// Recreates the folder of a cache zone that was removed, if one of the configurations has that zone. Otherwise, or if
/// the folder cannot be created, returns an error text for the log.
pub(crate) fn remake_folder(generations: &[&ServerGeneration], payload: &[u8]) -> Result<(), String> {
    let [path] = &decode_paths(payload).unwrap_or_default()[..] else {
        return Err("a worker process sent an invalid request to create a folder".to_owned());
    };
    let generation = generations.iter().find(|generation| generation.is_zone(path)).ok_or_else(|| {
        format!("a worker process requested the folder \"{}\", which is not allowed", path.display())
    })?;
    generation
        .remake_folder(path)
        .map_err(|error| format!("mkdir() \"{}\" failed ({})", path.display(), reason(&error)))
}
