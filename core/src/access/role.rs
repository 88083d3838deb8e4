//! The roles, and what each permits.
//!
//! [`Permission::roles`] is the only place that says it. Endpoints name a permission.

/// What somebody is trusted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads the fleet.
    Viewer,
    /// Steers upgrades: pauses, resumes, approves, acknowledges.
    Operator,
    /// Decides about releases for everybody: halts, reloads, overrules checks.
    ReleaseAdministrator,
    /// Is one of the two people who undo a halt, and reads the audit log.
    SecondSigner,
    /// Decides who belongs to the fleet: forgets and imports clusters, revokes tokens.
    FleetAdministrator,
    /// A pipeline. It says that a source has changed.
    Pipeline,
}

/// What an endpoint takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    ReadFleet,
    Pause,
    Resume,
    Approve,
    Withdraw,
    Acknowledge,
    Preflight,
    Cancel,
    Reload,
    OverruleSource,
    Halt,
    UndoHalt,
    Forget,
    Import,
    ManageTokens,
    ReadAuditLog,
}

impl Role {
    pub const ALL: [Self; 6] = [
        Self::Viewer,
        Self::Operator,
        Self::ReleaseAdministrator,
        Self::SecondSigner,
        Self::FleetAdministrator,
        Self::Pipeline,
    ];

    /// Those that people can have.
    pub const OF_PEOPLE: [Self; 5] = [
        Self::Viewer,
        Self::Operator,
        Self::ReleaseAdministrator,
        Self::SecondSigner,
        Self::FleetAdministrator,
    ];

    /// As files, tokens and commands have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::ReleaseAdministrator => "release-administrator",
            Self::SecondSigner => "second-signer",
            Self::FleetAdministrator => "fleet-administrator",
            Self::Pipeline => "pipeline",
        }
    }

    /// The role of people with this name.
    pub fn of_people(name: &str) -> Option<Self> {
        Self::OF_PEOPLE.into_iter().find(|role| role.name() == name)
    }

    pub fn permits(self, permission: Permission) -> bool {
        permission.roles().contains(&self)
    }
}

impl Permission {
    pub const ALL: [Self; 16] = [
        Self::ReadFleet,
        Self::Pause,
        Self::Resume,
        Self::Approve,
        Self::Withdraw,
        Self::Acknowledge,
        Self::Preflight,
        Self::Cancel,
        Self::Reload,
        Self::OverruleSource,
        Self::Halt,
        Self::UndoHalt,
        Self::Forget,
        Self::Import,
        Self::ManageTokens,
        Self::ReadAuditLog,
    ];

    /// The roles that permit it.
    pub fn roles(self) -> &'static [Role] {
        match self {
            Self::ReadFleet => &Role::OF_PEOPLE,
            Self::Pause
            | Self::Resume
            | Self::Approve
            | Self::Withdraw
            | Self::Acknowledge
            | Self::Preflight
            | Self::Cancel => &[Role::Operator],
            Self::Reload => &[Role::ReleaseAdministrator, Role::Pipeline],
            Self::OverruleSource | Self::Halt => &[Role::ReleaseAdministrator],
            // Two people with different names do it. The first may be whoever halted.
            Self::UndoHalt => &[Role::ReleaseAdministrator, Role::SecondSigner],
            // Names, addresses and tokens of people are for those who look after others, and never open to everybody.
            Self::ReadAuditLog => &[Role::SecondSigner, Role::FleetAdministrator],
            Self::Forget | Self::Import | Self::ManageTokens => &[Role::FleetAdministrator],
        }
    }

    /// As an answer for machines has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadFleet => "readFleet",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Approve => "approve",
            Self::Withdraw => "withdraw",
            Self::Acknowledge => "acknowledge",
            Self::Preflight => "preflight",
            Self::Cancel => "cancel",
            Self::Reload => "reload",
            Self::OverruleSource => "overruleSource",
            Self::Halt => "halt",
            Self::UndoHalt => "undoHalt",
            Self::Forget => "forget",
            Self::Import => "import",
            Self::ManageTokens => "manageTokens",
            Self::ReadAuditLog => "readAuditLog",
        }
    }

    /// What one does with it, after "to".
    pub fn words(self) -> &'static str {
        match self {
            Self::ReadFleet => "read the fleet",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Approve => "approve a version",
            Self::Withdraw => "withdraw an approval",
            Self::Acknowledge => "acknowledge a gate",
            Self::Preflight => "ask for preflights",
            Self::Cancel => "cancel an upgrade",
            Self::Reload => "reload sources",
            Self::OverruleSource => "overrule the checks of a source",
            Self::Halt => "halt a release",
            Self::UndoHalt => "undo a halt",
            Self::Forget => "forget a cluster",
            Self::Import => "import a list of clusters",
            Self::ManageTokens => "revoke tokens",
            Self::ReadAuditLog => "read the audit log",
        }
    }

    /// The roles of people that permit it, as in a sentence.
    pub fn roles_in_words(self) -> String {
        let roles = self
            .roles()
            .iter()
            .filter(|role| Role::OF_PEOPLE.contains(role));
        let names: Vec<&str> = roles.map(|role| role.name()).collect();
        match &*names {
            [] => "of nobody".to_owned(),
            [one] => (*one).to_owned(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_permission_has_a_role_and_every_role_permits_something() {
        for permission in Permission::ALL {
            assert!(!permission.roles().is_empty(), "{permission:?}");
        }
        for role in Role::ALL {
            let permits = |permission: &Permission| role.permits(*permission);
            assert!(Permission::ALL.iter().any(permits), "{role:?}");
        }
    }

    #[test]
    fn people_cannot_have_the_roles_of_machines() {
        assert_eq!(Role::of_people("operator"), Some(Role::Operator));
        for name in ["pipeline", "cluster", "admin", "Operator", ""] {
            assert_eq!(Role::of_people(name), None, "{name}");
        }
    }
}
