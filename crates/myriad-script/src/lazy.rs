//! Variables that are computed when they are first read: `map`, `geo` and `split_clients`.

use crate::environment::{Builtin, Environment};
use crate::error::EvalError;
use crate::frame::Frame;
use crate::geo::Geo;
use crate::map::Map;
use crate::split_clients::SplitClients;

/// How to compute a user variable that nothing has set.
#[derive(Debug)]
pub(crate) enum Lazy {
    Map(Map),
    Geo(Geo),
    SplitClients(SplitClients),
}

impl Lazy {
    /// Appends the value to `out`.
    pub(crate) fn eval<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        out: &mut Vec<u8>,
    ) -> Result<(), EvalError> {
        match self {
            Lazy::Map(map) => map.eval(env, frame, out),
            Lazy::Geo(geo) => geo.eval(env, frame, out),
            Lazy::SplitClients(split) => split.eval(env, frame, out),
        }
    }

    /// Whether it reads no other variables than the allowed ones.
    pub(crate) fn reads_only(&self, allowed: &dyn Fn(Builtin) -> bool, depth: u8) -> bool {
        match self {
            Lazy::Map(map) => map.reads_only(allowed, depth),
            Lazy::Geo(geo) => geo.reads_only(allowed, depth),
            Lazy::SplitClients(split) => split.reads_only(allowed, depth),
        }
    }

    /// Whether the value is computed anew at each reading.
    pub(crate) fn is_volatile(&self) -> bool {
        match self {
            Lazy::Map(map) => map.is_volatile(),
            Lazy::Geo(geo) => geo.is_volatile(),
            Lazy::SplitClients(_) => false,
        }
    }
}
