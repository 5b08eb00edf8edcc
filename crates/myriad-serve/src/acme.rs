//! Threads that obtain ACME certificates (one agent per issuer) and refresh OCSP responses; they survive reloads.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_log::ErrorLog;
use myriad_tls::acme_client::{AcmeAgent, AgentCallbacks, LogCallback, StapleUpdater, StapleWithResolver};
use myriad_tls::{PlannedIssuer, resolve};

use myriad_exchange::runtime::{AcmePlan, Runtime};
use myriad_exchange::state_storage::SharedStateStorage;

/// Running ACME agents by issuer name, and the thread that fetches OCSP responses.
#[derive(Default)]
pub(crate) struct AcmeAgents {
    running: HashMap<String, AcmeAgent>,
    stapler: Option<StapleUpdater>,
}

/// Threads that a configuration needs in addition to the running ones. They wait until
/// [`AcmeAgents::apply_plan`] gives them their certificates; dropping this value stops them.
pub(crate) struct PreparedAgents {
    new: HashMap<String, AcmeAgent>,
    new_stapler: Option<StapleUpdater>,
}

impl AcmeAgents {
    /// Starts the threads of a configuration that are not running yet: an agent for each new or changed issuer that a
    /// server uses, and the thread that refreshes OCSP responses. The running threads do not change.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub(crate) fn prepare(
        &self,
        runtime: &Runtime,
        keeper: &SharedStateStorage,
    ) -> std::io::Result<PreparedAgents> {
        let mut new = HashMap::new();
        if let Some(plan) = runtime.acme.as_deref() {
            for planned in plan.issuers.iter().filter(|planned| !planned.slots.is_empty()) {
                let name = &planned.issuer.name;
                if self.running.get(name).is_some_and(|agent| agent.is_for(&planned.issuer)) {
                    continue;
                }
                let agent = AcmeAgent::start(
                    planned.issuer.clone(),
                    planned.account.clone(),
                    Arc::clone(&plan.challenges),
                    agent_environment(plan, planned, keeper),
                )?;
                new.insert(name.clone(), agent);
            }
        }
        let starts_stapler = self.stapler.is_none() && !runtime.staples.is_empty();
        let new_stapler = starts_stapler.then(|| StapleUpdater::start(log_callback(&runtime.zone_log)));
        Ok(PreparedAgents { new, new_stapler: new_stapler.transpose()? })
    }

    /// Gives the agents, including the prepared ones, the certificates of the configuration, and stops those of other
    /// issuers. An agent whose issuer is unchanged continues its work, also if no server uses the issuer any more. Does
    /// the same for the thread that refreshes OCSP responses, which stops if no certificate has one.
    pub(crate) fn apply_plan(
        &mut self,
        prepared: PreparedAgents,
        runtime: &Runtime,
        keeper: &SharedStateStorage,
    ) {
        let mut available = std::mem::take(&mut self.running);
        available.extend(prepared.new);
        if let Some(plan) = runtime.acme.as_deref() {
            for planned in &plan.issuers {
                let known = available.remove(&planned.issuer.name);
                if let Some(agent) = known.filter(|agent| agent.is_for(&planned.issuer)) {
                    agent.set(planned.slots.clone(), agent_environment(plan, planned, keeper));
                    self.running.insert(planned.issuer.name.clone(), agent);
                }
            }
        }
        let stapler = self.stapler.take().or(prepared.new_stapler);
        self.stapler = stapler.filter(|_| !runtime.staples.is_empty());
        if let Some(stapler) = &self.stapler {
            let stapled = runtime.staples.iter().map(|planned| StapleWithResolver {
                staple: Arc::clone(&planned.staple),
                resolve: resolve(planned.resolver.clone()),
            });
            stapler.set(stapled.collect(), log_callback(&runtime.zone_log));
        }
    }

    /// Stops all agents and the refresh of OCSP responses. Work in progress is cancelled.
    pub(crate) fn stop(&mut self) {
        self.running.clear();
        self.stapler = None;
    }
}

/// Returns a callback that writes to `log`, without the context of a request.
fn log_callback(log: &ErrorLog) -> LogCallback {
    let log = log.clone();
    Arc::new(move |level, message| log.write(level, None, format_args!("{message}")))
}

fn agent_environment(
    plan: &AcmePlan,
    planned: &PlannedIssuer,
    keeper: &SharedStateStorage,
) -> AgentCallbacks {
    let (keeper, state) = (keeper.clone(), planned.state.clone());
    AgentCallbacks {
        log: log_callback(&plan.log),
        store: Arc::new(move |name, bytes| {
            if let Some(folder) = &state {
                keeper.save_file(&folder.join(name), bytes);
            }
        }),
        resolve: resolve(plan.resolver.clone()),
    }
}
