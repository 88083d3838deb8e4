//! Roles × endpoints, from the table of routes alone.

use towpath_formats::access::table::{Cell, Row};

use super::{Handler, ROUTES, Route, Who};

/// A row for each endpoint of the API.
pub fn access_rows() -> Vec<Row> {
    let described = ROUTES.iter().filter(|route| !route.is_page());
    described.map(row).collect()
}

fn row(route: &Route) -> Row {
    let (nobody, cluster, permission) = match route.who {
        Who::Anyone => (Cell::Yes, Cell::Yes, None),
        Who::AnyoneInPart => (Cell::InPart, Cell::InPart, None),
        Who::AnyoneOrClusterInPart | Who::AnyoneOrClusterById => (Cell::InPart, Cell::Yes, None),
        Who::Cluster => (Cell::No, Cell::Yes, None),
        Who::May(permission) => (Cell::No, Cell::No, Some(permission)),
    };
    Row {
        method: route.verb.allow().split(',').next().unwrap_or_default(),
        path: route.path,
        label: route.label,
        words: route.who.words(),
        permission,
        nobody,
        cluster,
        changes: matches!(
            route.handler,
            Handler::Change(_) | Handler::Report | Handler::Reload
        ),
    }
}

#[cfg(test)]
mod tests {
    use towpath_core::access::Permission;

    use super::*;

    #[test]
    fn nothing_is_changed_without_a_permission_or_a_clusters_token() {
        for row in access_rows().iter().filter(|row| row.changes) {
            let is_clusters = row.cluster == Cell::Yes && row.nobody == Cell::No;
            let reads = row.permission == Some(Permission::ReadFleet);
            let is_guarded = is_clusters || row.permission.is_some();
            assert!(is_guarded && !reads, "{}", row.path);
            assert_eq!(row.nobody, Cell::No, "{}", row.path);
        }
    }
}
