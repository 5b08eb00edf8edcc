//! Threads that obtain ACME certificates (one agent per issuer) and refresh OCSP responses; they survive reloads.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_log::ErrorLog;
use myriad_tls::acme_client::callbacks::StoreCallback;
use myriad_tls::acme_client::{
    AcmeAgent, AgentCallbacks, LogCallback, OrderCoordinator, StapleUpdater, StapleWithResolver,
};
#[cfg(feature = "cluster")]
use myriad_tls::acme_client::{CertificateSlot, SharedCertificate};
use myriad_tls::{PlannedIssuer, resolve};

use myriad_exchange::runtime::{AcmePlan, Runtime};
use myriad_exchange::state_storage::SharedStateStorage;

/// Parts of the process that the agents use.
pub(crate) struct AgentEnvironment<'a> {
    /// Storage of account keys and certificates.
    pub storage: &'a SharedStateStorage,
    /// Coordinator of orders; `None` if the server cannot belong to a cluster.
    pub coordinator: Option<Arc<dyn OrderCoordinator>>,
}

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
    /// Starts the threads of the first configuration, as [`Self::prepare`].
    ///
    /// # Errors
    /// Returns the errors of [`Self::prepare`].
    pub(crate) fn begin(
        runtime: &Runtime,
        environment: &AgentEnvironment<'_>,
    ) -> std::io::Result<(Self, PreparedAgents)> {
        let agents = Self::default();
        let prepared = agents.prepare(runtime, environment)?;
        Ok((agents, prepared))
    }

    /// Starts the threads of a configuration that are not running yet: an agent for each new or changed issuer that a
    /// server uses, and the thread that refreshes OCSP responses. The running threads do not change.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub(crate) fn prepare(
        &self,
        runtime: &Runtime,
        environment: &AgentEnvironment<'_>,
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
                    agent_environment(plan, planned, environment),
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
        environment: &AgentEnvironment<'_>,
    ) {
        let mut available = std::mem::take(&mut self.running);
        available.extend(prepared.new);
        if let Some(plan) = runtime.acme.as_deref() {
            for planned in &plan.issuers {
                let known = available.remove(&planned.issuer.name);
                if let Some(agent) = known.filter(|agent| agent.is_for(&planned.issuer)) {
                    agent.set(planned.slots.clone(), agent_environment(plan, planned, environment));
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
    environment: &AgentEnvironment<'_>,
) -> AgentCallbacks {
    AgentCallbacks {
        log: log_callback(&plan.log),
        store: store_callback(planned, environment.storage),
        resolve: resolve(plan.resolver.clone()),
        cluster: environment.coordinator.clone(),
    }
}

/// Returns a callback that stores files in the folder of an issuer, if it has one.
fn store_callback(planned: &PlannedIssuer, keeper: &SharedStateStorage) -> StoreCallback {
    let (keeper, state) = (keeper.clone(), planned.state.clone());
    Arc::new(move |name, bytes| {
        if let Some(folder) = &state {
            keeper.save_file(&folder.join(name), bytes);
        }
    })
}

/// Returns the certificates of a configuration that the nodes of a cluster share.
#[cfg(feature = "cluster")]
pub(crate) fn shared_certificates(runtime: &Runtime, keeper: &SharedStateStorage) -> Vec<SharedCertificate> {
    let Some(plan) = runtime.acme.as_deref() else { return Vec::new() };
    let of_issuer = |planned: &PlannedIssuer| {
        let certificate = |slot: &Arc<CertificateSlot>| SharedCertificate {
            issuer: planned.issuer.name.clone(),
            uri: planned.issuer.uri.clone(),
            challenge: planned.issuer.challenge,
            slot: Arc::clone(slot),
            log: log_callback(&plan.log),
            store: store_callback(planned, keeper),
        };
        planned.shared.iter().map(certificate).collect::<Vec<_>>()
    };
    plan.issuers.iter().flat_map(of_issuer).collect()
}
