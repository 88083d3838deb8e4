//! Signatures of what is served. A thread of its own looks for them, so that a slow signature store cannot delay a block.
//!
//! It reports saved verdicts first and new ones in parts: a verified release is served while the search for others goes on.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use towpath_core::finding::{Finding, Place};
use towpath_core::signatures::{PayloadDigest, SignaturePolicy, SignatureVerdict, Verdicts};
use towpath_sources::StoreAccess;
use towpath_web::Service;

use super::{Message, SourceSettings, reader};
use crate::cli::failure;
use crate::signatures::{Go, Verifier};

/// What was not verified is looked for again this often: signatures come later than releases.
const AGAIN: Duration = Duration::from_secs(300);

/// The thread that looks for signatures, as the one that makes graphs sees it.
pub(super) struct Verification {
    asks: Sender<VerificationRequest>,
    asked: Option<BTreeSet<PayloadDigest>>,
    /// What is to be done with the keyring when something is asked for.
    keyring: KeyringUse,
    progress: VerificationProgress,
}

enum VerificationProgress {
    Waiting,
    Answered,
}

/// What is wanted of the thread.
struct VerificationRequest {
    payloads: BTreeSet<PayloadDigest>,
    keyring: KeyringUse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum KeyringUse {
    AsItIs,
    ReadAgain,
}

/// What is known of signatures now.
pub(super) struct VerificationReport {
    pub(super) verdicts: Verdicts,
    pub(super) warnings: Vec<Finding>,
}

/// Whoever can verify, if anybody has to.
pub(super) fn verifier(settings: &SourceSettings) -> Result<Option<Verifier>, Vec<Finding>> {
    let Some(signatures) = &settings.signatures else {
        return Ok(None);
    };
    let access = StoreAccess {
        ca: settings.access.http.ca.clone(),
        ..StoreAccess::default()
    };
    let cache = settings
        .state
        .as_ref()
        .map(|state| state.join("signatures"));
    let (verifier, warnings) = Verifier::new(
        &signatures.keyring,
        &signatures.stores,
        cache.as_deref(),
        &access,
    )?;
    super::log_findings(&warnings);
    Ok(Some(verifier))
}

/// Starts to look, if anybody has to.
pub(super) fn start(
    settings: &SourceSettings,
    messages: &Sender<Message>,
    service: &Arc<Service>,
) -> anyhow::Result<Option<Verification>> {
    let Some(verifier) = verifier(settings).map_err(|found| failure(&found))? else {
        return Ok(None);
    };
    let runtime = reader::runtime()?;
    let (asks, inbox) = channel();
    service.signatures(verifier.health());
    let looking = SignatureThread {
        verifier,
        runtime,
        messages: messages.clone(),
        service: service.clone(),
        told: None,
    };
    std::thread::Builder::new()
        .name("signatures".into())
        .spawn(move || looking.run(&inbox))?;
    // Whoever only warns has nothing to wait for.
    let waits = settings
        .signatures
        .as_ref()
        .is_some_and(|signatures| signatures.policy == SignaturePolicy::Require);
    let progress = if waits {
        VerificationProgress::Waiting
    } else {
        VerificationProgress::Answered
    };
    Ok(Some(Verification {
        asks,
        asked: None,
        keyring: KeyringUse::AsItIs,
        progress,
    }))
}

impl Verification {
    /// Lets these be looked for, if they are others than before.
    pub(super) fn ask(&mut self, payloads: BTreeSet<PayloadDigest>) {
        if self.asked.as_ref() != Some(&payloads) {
            // If nobody listens any more nothing more gets verified, and what is not is left out.
            let keyring = std::mem::replace(&mut self.keyring, KeyringUse::AsItIs);
            let _ = self.asks.send(VerificationRequest {
                payloads: payloads.clone(),
                keyring,
            });
            self.asked = Some(payloads);
        }
    }

    /// Lets the keyring be read again, and what was not verified be looked for now.
    pub(super) fn ask_again(&mut self) {
        match &self.asked {
            Some(payloads) => {
                let _ = self.asks.send(VerificationRequest {
                    payloads: payloads.clone(),
                    keyring: KeyringUse::ReadAgain,
                });
            }
            // An answer about nothing would be taken for one about everything.
            None => self.keyring = KeyringUse::ReadAgain,
        }
    }

    pub(super) fn answered(&mut self) {
        self.progress = VerificationProgress::Answered;
    }

    /// Whether somebody has looked at all.
    pub(super) fn has_answered(&self) -> bool {
        matches!(self.progress, VerificationProgress::Answered)
    }
}

struct SignatureThread {
    verifier: Verifier,
    runtime: tokio::runtime::Runtime,
    messages: Sender<Message>,
    service: Arc<Service>,
    /// What was last said to be verified; none: nothing was said yet.
    told: Option<BTreeSet<PayloadDigest>>,
}

impl SignatureThread {
    fn run(mut self, inbox: &Receiver<VerificationRequest>) {
        let Ok(mut wanted) = inbox.recv() else { return };
        loop {
            wanted = newest(wanted, inbox);
            if std::mem::replace(&mut wanted.keyring, KeyringUse::AsItIs) == KeyringUse::ReadAgain {
                super::log_findings(&self.verifier.read_keyring_again(self.service.now()));
                self.service.signatures(self.verifier.health());
            }
            // A mistake of ours, on bytes of a stranger, must not end the looking for good; nor keep anybody waiting for ever.
            let looked =
                std::panic::catch_unwind(AssertUnwindSafe(|| self.look(&wanted.payloads, inbox)));
            let looked = looked.unwrap_or_else(|_| {
                let verdicts = self.verifier.known();
                let is_heard = self.tell(VerificationReport {
                    verdicts,
                    warnings: vec![own_mistake()],
                });
                if is_heard {
                    SearchEnd::Over
                } else {
                    SearchEnd::NobodyListens
                }
            });
            self.service.signatures(self.verifier.health());
            wanted = match looked {
                SearchEnd::NobodyListens => return,
                SearchEnd::Interrupted(others) => others,
                SearchEnd::Over => match inbox.recv_timeout(AGAIN) {
                    Ok(others) => others,
                    Err(RecvTimeoutError::Timeout) => wanted,
                    Err(RecvTimeoutError::Disconnected) => return,
                },
            }
        }
    }

    /// Looks first at what is remembered, so that a restart does not wait for stores, nor a new keyring.
    fn look(
        &mut self,
        wanted: &BTreeSet<PayloadDigest>,
        inbox: &Receiver<VerificationRequest>,
    ) -> SearchEnd {
        let now = self.service.now();
        let remembered = self.runtime.block_on(self.verifier.remembered(wanted, now));
        let verified = verified(&remembered);
        let is_of_use = match &self.told {
            // With nothing at all there would be an empty graph.
            None => !verified.is_empty(),
            Some(told) => verified != *told,
        };
        if is_of_use
            && !self.tell(VerificationReport {
                verdicts: remembered,
                warnings: Vec::new(),
            })
        {
            return SearchEnd::NobodyListens;
        }
        let (messages, mut others) = (self.messages.clone(), None);
        let mut part = |verdicts: Option<&Verdicts>| {
            if let Some(verdicts) = verdicts {
                // That nobody listens any more is noticed at the end of the round.
                let _ = messages.send(Message::Verified(VerificationReport {
                    verdicts: verdicts.clone(),
                    warnings: Vec::new(),
                }));
            }
            others = inbox.try_recv().ok();
            if others.is_some() { Go::Stop } else { Go::On }
        };
        let (verdicts, warnings) = self
            .runtime
            .block_on(self.verifier.verdicts(wanted, now, &mut part));
        // Nothing was said yet, and there is nothing to say: a graph would be empty.
        let would_be_empty = self.told.is_none() && self::verified(&verdicts).is_empty();
        match others {
            Some(others) if would_be_empty => SearchEnd::Interrupted(others),
            others => match (self.tell(VerificationReport { verdicts, warnings }), others) {
                (false, _) => SearchEnd::NobodyListens,
                (true, Some(others)) => SearchEnd::Interrupted(others),
                (true, None) => SearchEnd::Over,
            },
        }
    }

    fn tell(&mut self, verified: VerificationReport) -> bool {
        self.told = Some(self::verified(&verified.verdicts));
        self.messages.send(Message::Verified(verified)).is_ok()
    }
}

fn verified(verdicts: &Verdicts) -> BTreeSet<PayloadDigest> {
    let is_verified = |verdict: &SignatureVerdict| matches!(verdict, SignatureVerdict::Verified(_));
    verdicts
        .iter()
        .filter(|(_, verdict)| is_verified(verdict))
        .map(|(digest, _)| *digest)
        .collect()
}

/// How a look ended.
enum SearchEnd {
    Over,
    /// Something else is wanted.
    Interrupted(VerificationRequest),
    NobodyListens,
}

/// What is wanted last, and a new keyring if anybody wanted one.
fn newest(
    first: VerificationRequest,
    inbox: &Receiver<VerificationRequest>,
) -> VerificationRequest {
    inbox
        .try_iter()
        .fold(first, |before, next| VerificationRequest {
            keyring: before.keyring.max(next.keyring),
            ..next
        })
}

fn own_mistake() -> Finding {
    let problem = "looking for signatures failed because of a bug in Towpath; this round verifies nothing more";
    let remedy = "the log has the details; please report them";
    Finding::error("internal", Place::file("signatures"), problem, remedy)
}
