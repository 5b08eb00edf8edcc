//! Variables that are computed on first read: `map`, `geo`, `split_clients`, and tables of the embedder.

use std::sync::Arc;

use crate::environment::{Builtin, Environment};
use crate::error::EvalError;
use crate::frame::Frame;
use crate::geo::{self, Geo};
use crate::map::Map;
use crate::split_clients::SplitClients;
use crate::table::VariableTable;
use crate::template::{CaptureForm, Template};

pub(crate) mod compile;

/// Computation of a variable by a block such as `map` or `geo`, run when the variable is read while unset.
#[derive(Debug)]
pub(crate) enum Lazy {
    Map(Map),
    Geo {
        address: Template,
        /// Template of `$http_x_forwarded_for`, which is read if the client is a trusted proxy; `None` without trusted
        /// proxies.
        forwarded: Option<Template>,
        table: Geo,
    },
    SplitClients {
        source: Template,
        table: SplitClients,
    },
    Table {
        sources: Box<[Template]>,
        table: Arc<dyn VariableTable>,
    },
}

impl Lazy {
    /// Computes the value of the variable for a request, and appends it to `out`.
    pub(crate) fn eval<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        out: &mut Vec<u8>,
    ) -> Result<(), EvalError> {
        match self {
            Lazy::Map(map) => map.eval(env, frame, out),
            Lazy::Geo { address, forwarded, table } => {
                let own = address.with_value(env, frame, CaptureForm::Raw, |_, text| Ok(geo::parse(text)))?;
                let mut address = own.unwrap_or(geo::NO_ADDRESS);
                if let (Some(forwarded), Some(peer)) = (forwarded, own) {
                    address = forwarded.with_value(env, frame, CaptureForm::Raw, |_, list| {
                        Ok(table.client_address(peer, list))
                    })?;
                }
                out.extend_from_slice(table.find(address));
                Ok(())
            }
            Lazy::SplitClients { source, table } => {
                source.with_value(env, frame, CaptureForm::Raw, |_, text| {
                    out.extend_from_slice(table.find(text));
                    Ok(())
                })
            }
            Lazy::Table { sources, table } => {
                let mut texts = vec![Vec::new(); sources.len()];
                for (source, text) in sources.iter().zip(&mut texts) {
                    source.eval(env, frame, text)?;
                }
                let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
                table.find(&texts, out);
                Ok(())
            }
        }
    }

    /// Returns whether the value depends only on variables of the embedder that `allowed` accepts, following at most
    /// `depth` nested blocks. Returns false for a table without input texts.
    pub(crate) fn reads_only(&self, allowed: &dyn Fn(Builtin) -> bool, depth: u8) -> bool {
        match self {
            Lazy::Map(map) => map.reads_only(allowed, depth),
            Lazy::Geo { address, forwarded, .. } => {
                let mut read = [Some(address), forwarded.as_ref()].into_iter().flatten();
                read.all(|part| part.reads_within(allowed, depth))
            }
            Lazy::SplitClients { source, .. } => source.reads_within(allowed, depth),
            // The data on which a table without inputs depends is unknown.
            Lazy::Table { sources, .. } => {
                !sources.is_empty() && sources.iter().all(|source| source.reads_within(allowed, depth))
            }
        }
    }

    /// Returns whether the value is computed at every read (`volatile`) instead of once per request.
    pub(crate) fn is_volatile(&self) -> bool {
        match self {
            Lazy::Map(map) => map.is_volatile(),
            Lazy::Geo { table, .. } => table.is_volatile(),
            Lazy::SplitClients { .. } | Lazy::Table { .. } => false,
        }
    }
}
