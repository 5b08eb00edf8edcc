//! The agents of the issuers, from one reload to the next.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use myriad_acme::https::Resolve;
use myriad_acme::{Agent, Log, Outside, Stapled, Stapler};
use myriad_log::ErrorLog;
use myriad_tls::PlannedIssuer;
use myriad_upstream::{Resolver, ResolverConfig};
use tokio::runtime::{Builder, LocalOptions};

use myriad_exchange::keeping::Keeper;
use myriad_exchange::runtime::{AcmePlan, PlannedStaple};

/// The issuers at work, by name, and who asks what authorities say.
#[derive(Default)]
pub(crate) struct Agents {
    running: HashMap<String, Agent>,
    stapler: Option<Stapler>,
}

impl Agents {
    /// Does what a configuration says: issuers that are still there go on with what they are doing.
    pub(crate) fn follow(&mut self, plan: Option<&AcmePlan>, keeper: &Keeper) -> std::io::Result<()> {
        let mut before = std::mem::take(&mut self.running);
        let Some(plan) = plan else { return Ok(()) };
        for planned in &plan.issuers {
            let name = planned.issuer.name.clone();
            let outside = outside(plan, planned, keeper);
            let known = before.remove(&name).filter(|agent| agent.is_for(&planned.issuer));
            if let Some(agent) = known {
                agent.set(planned.slots.clone(), outside);
                self.running.insert(name, agent);
            } else if !planned.slots.is_empty() {
                let agent = Agent::start(
                    planned.issuer.clone(),
                    planned.slots.clone(),
                    planned.account.clone(),
                    Arc::clone(&plan.challenges),
                    outside,
                )?;
                self.running.insert(name, agent);
            }
        }
        Ok(())
    }

    /// Keeps the OCSP answers of a configuration fresh.
    pub(crate) fn staple(&mut self, planned: &[PlannedStaple], log: &ErrorLog) -> std::io::Result<()> {
        if planned.is_empty() {
            self.stapler = None;
            return Ok(());
        }
        let log = log.clone();
        let log: Log = Arc::new(move |level, message| log.write(level, None, format_args!("{message}")));
        let stapler = match self.stapler.take() {
            Some(stapler) => stapler,
            None => Stapler::start(Arc::clone(&log))?,
        };
        let stapled = planned.iter().map(|planned| Stapled {
            staple: Arc::clone(&planned.staple),
            resolve: resolve(planned.resolver.clone()),
        });
        stapler.set(stapled.collect(), log);
        self.stapler = Some(stapler);
        Ok(())
    }

    /// Ends all of them; what is under way is given up.
    pub(crate) fn end(&mut self) {
        self.running.clear();
        self.stapler = None;
    }
}

fn outside(plan: &AcmePlan, planned: &PlannedIssuer, keeper: &Keeper) -> Outside {
    let log = plan.log.clone();
    let (keeper, state) = (keeper.clone(), planned.state.clone());
    Outside {
        log: Arc::new(move |level, message| log.write(level, None, format_args!("{message}"))),
        keep: Arc::new(move |name, bytes| {
            if let Some(folder) = &state {
                keeper.file(&folder.join(name), bytes);
            }
        }),
        resolve: resolve(plan.resolver.clone()),
    }
}

/// How an authority's name is looked up: by `resolver`, else by the system, which may block a thread of its own.
fn resolve(resolver: Option<(Arc<ResolverConfig>, u64)>) -> Resolve {
    let Some((config, timeout_ms)) = resolver else {
        return Arc::new(|name| {
            let found = std::net::ToSocketAddrs::to_socket_addrs(&(name, 0));
            let found = found.map_err(|error| format!("\"{name}\" could not be resolved: {error}"))?;
            Ok(found.map(|address| address.ip()).collect())
        });
    };
    Arc::new(move |name| {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
            .map_err(|error| error.to_string())?;
        let resolver = Resolver::new(Arc::clone(&config));
        let found = runtime.block_on(resolver.resolve(name, timeout_ms));
        let found: Arc<[IpAddr]> =
            found.map_err(|error| format!("\"{name}\" could not be resolved ({error})"))?;
        Ok(found.to_vec())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_is_an_address_needs_no_resolver() {
        let system = resolve(None);
        assert_eq!(system("192.0.2.1"), Ok(vec![IpAddr::from([192, 0, 2, 1])]));
        let error = system("").expect_err("no name");
        assert!(error.starts_with("\"\" could not be resolved"), "{error}");
    }

    #[test]
    fn site_without_certificates_has_no_agents() {
        let mut agents = Agents::default();
        agents.staple(&[], &ErrorLog::new(Vec::new())).expect("no thread is needed");
        assert!(agents.running.is_empty() && agents.stapler.is_none());
        agents.end();
    }
}
