//! Signatures of what is served. They are looked for on a thread of their own: a store that stalls must not keep a block from being served.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::anyhow;
use towpath_core::domain::{PayloadDigest, SignaturePolicy};
use towpath_core::finding::{Finding, Place};
use towpath_core::signatures::Verdicts;
use towpath_sources::StoreAccess;
use towpath_web::Service;

use super::{Message, SourceSettings, reader};
use crate::signatures::Verifier;

/// What was not verified is looked for again this often: signatures come later than releases.
const AGAIN: Duration = Duration::from_secs(300);

/// The thread that looks for signatures, as the one that makes graphs sees it.
pub(super) struct Verification {
    asks: Sender<BTreeSet<PayloadDigest>>,
    asked: Option<BTreeSet<PayloadDigest>>,
    progress: Progress,
}

enum Progress {
    Waiting,
    Answered,
}

/// What is known of signatures now.
pub(super) struct Verified {
    pub(super) verdicts: Verdicts,
    pub(super) warnings: Vec<Finding>,
}

/// Whoever can verify, if anybody has to.
pub(super) fn verifier(settings: &SourceSettings) -> Result<Option<Verifier>, Vec<Finding>> {
    let Some(signatures) = &settings.signatures else { return Ok(None) };
    let access = StoreAccess { ca: settings.access.http.ca.clone(), ..StoreAccess::default() };
    let cache = settings.state.as_ref().map(|state| state.join("signatures"));
    let (verifier, warnings) = Verifier::new(&signatures.keyring, &signatures.stores, cache.as_deref(), &access)?;
    super::log_findings(&warnings);
    Ok(Some(verifier))
}

/// Starts to look, if anybody has to.
pub(super) fn start(
    settings: &SourceSettings,
    messages: &Sender<Message>,
    service: &Arc<Service>,
) -> anyhow::Result<Option<Verification>> {
    let told = |findings: Vec<Finding>| {
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        anyhow!("{}", lines.join("\n"))
    };
    let Some(verifier) = verifier(settings).map_err(told)? else { return Ok(None) };
    let runtime = reader::runtime().map_err(|finding| anyhow!("{finding}"))?;
    let (asks, inbox) = channel();
    let told = BTreeSet::new();
    let looking = Looking { verifier, runtime, messages: messages.clone(), service: service.clone(), told };
    std::thread::Builder::new().name("signatures".into()).spawn(move || looking.run(&inbox))?;
    // Whoever only warns has nothing to wait for.
    let waits = settings.signatures.as_ref().is_some_and(|signatures| signatures.policy == SignaturePolicy::Require);
    let progress = if waits { Progress::Waiting } else { Progress::Answered };
    Ok(Some(Verification { asks, asked: None, progress }))
}

impl Verification {
    /// Lets these be looked for, if they are others than before.
    pub(super) fn ask(&mut self, payloads: BTreeSet<PayloadDigest>) {
        if self.asked.as_ref() != Some(&payloads) {
            // If nobody listens any more nothing more gets verified, and what is not is left out.
            let _ = self.asks.send(payloads.clone());
            self.asked = Some(payloads);
        }
    }

    /// Lets what was not verified be looked for now.
    pub(super) fn ask_again(&mut self) {
        if let Some(payloads) = &self.asked {
            let _ = self.asks.send(payloads.clone());
        }
    }

    pub(super) fn answered(&mut self) {
        self.progress = Progress::Answered;
    }

    /// Whether somebody has looked at all.
    pub(super) fn has_answered(&self) -> bool {
        matches!(self.progress, Progress::Answered)
    }
}

struct Looking {
    verifier: Verifier,
    runtime: tokio::runtime::Runtime,
    messages: Sender<Message>,
    service: Arc<Service>,
    /// What was looked for in the round before.
    told: BTreeSet<PayloadDigest>,
}

impl Looking {
    fn run(mut self, inbox: &Receiver<BTreeSet<PayloadDigest>>) {
        let Ok(mut wanted) = inbox.recv() else { return };
        loop {
            wanted = inbox.try_iter().last().unwrap_or(wanted);
            // A mistake of ours, on bytes of a stranger, must not end the looking for good; nor keep anybody waiting for ever.
            let looked = std::panic::catch_unwind(AssertUnwindSafe(|| self.look(&wanted)));
            let is_heard = looked.unwrap_or_else(|_| {
                self.tell(Verified { verdicts: self.verifier.known(), warnings: vec![own_mistake()] })
            });
            if !is_heard {
                return;
            }
            self.told = wanted.clone();
            match inbox.recv_timeout(AGAIN) {
                Ok(others) => wanted = others,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Looks first at what is remembered, so that a restart does not wait for stores; says whether anybody listens.
    fn look(&mut self, wanted: &BTreeSet<PayloadDigest>) -> bool {
        let now = self.service.now();
        let remembered = self.runtime.block_on(self.verifier.remembered(wanted, now));
        let is_of_use = !remembered.is_empty() && remembered.len() < wanted.len();
        if is_of_use && self.told.is_empty() && !self.tell(Verified { verdicts: remembered, warnings: Vec::new() }) {
            return false;
        }
        let (verdicts, warnings) = self.runtime.block_on(self.verifier.verdicts(wanted, now));
        self.tell(Verified { verdicts, warnings })
    }

    fn tell(&self, verified: Verified) -> bool {
        self.messages.send(Message::Verified(verified)).is_ok()
    }
}

fn own_mistake() -> Finding {
    let problem = "looking for signatures ended in a mistake of towpath's own; nothing more is verified in this round";
    Finding::error("internal", Place::file("signatures"), problem, "the log has the details; please report them")
}
