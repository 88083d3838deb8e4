//! The matrix of versions and places, or of versions and clusters: as a page of JSON, and as a table.

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{
    Filter, FleetPlanner, Matrix, MatrixBy, MatrixCell, MatrixCells, MatrixPlace, MatrixRow, Name,
};

use super::pages::{FOREIGN, after, entries, next_after};
use crate::room::Room;
use crate::tables::{align_right, fitted, shown};
use crate::words::counted;

/// The rows of a table, if nobody says how many.
pub const MAX_ROWS: usize = 50;
/// The versions of a table. JSON has more.
const MAX_COLUMNS: usize = 12;

/// A page of rows.
pub fn page(
    desk: &FleetPlanner,
    by: MatrixBy,
    filter: &Filter,
    now: Timestamp,
) -> Result<Value, String> {
    let after = after::<5>(filter)?.map(place_of).transpose()?;
    let (matrix, has_more) = filter.matrix(desk, by, after.as_ref(), entries(filter), now);
    let last = matrix.rows.last().filter(|_| has_more);
    let mut page = json(&matrix, now);
    page["next"] = json!(last.map(|row| cursor(&row.place)));
    Ok(page)
}

/// Names are written with a mark, so that none is not the same as an empty one.
fn cursor(place: &MatrixPlace) -> String {
    let marked = |name: Option<&str>| name.map_or_else(String::new, |name| format!("={name}"));
    let (name, id) = match &place.cluster {
        Some((name, id)) => (Some(&**name), Some(id.as_str())),
        None => (None, None),
    };
    let names = [
        Some(&*place.organisation),
        place.sector.as_deref(),
        place.workload.as_deref(),
        name,
        id,
    ]
    .map(marked);
    next_after(names.each_ref().map(String::as_str))
}

fn place_of(names: [&str; 5]) -> Result<MatrixPlace, String> {
    let foreign = || format!("{FOREIGN}; leave it out to begin with the first page");
    let [organisation, sector, workload, name, id] =
        names.map(|name| name.strip_prefix('=').map(Name::from));
    let id = id.map(|id| ClusterId::new(&id).ok_or_else(foreign));
    Ok(MatrixPlace {
        organisation: organisation.ok_or_else(foreign)?,
        sector,
        workload,
        cluster: name.zip(id.transpose()?),
    })
}

pub fn json(matrix: &Matrix, now: Timestamp) -> Value {
    let versions = matrix.versions.iter().map(ToString::to_string);
    json!({
        "at": now.to_string(),
        "versions": versions.collect::<Vec<_>>(),
        "versionsLeftOut": matrix.left_out,
        "rows": matrix.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn row(row: &MatrixRow) -> Value {
    let place = &row.place;
    let mut told = json!({
        "organisation": place.organisation,
        "sector": place.sector,
        "workload": place.workload,
    });
    if let Some((name, id)) = &place.cluster {
        told["cluster"] = id.as_str().into();
        told["name"] = json!(name);
    }
    match &row.cells {
        MatrixCells::Counts { on, others } => {
            told["clusters"] = json!(on.iter().sum::<u32>() + others);
            told["counts"] = json!(on);
            told["others"] = json!(others);
        }
        MatrixCells::One { version, cells } => {
            told["version"] = json!(version.to_string());
            told["cells"] = cells
                .iter()
                .map(|one| json!(one.as_ref().map(word)))
                .collect();
        }
    }
    told
}

fn word(cell: &MatrixCell) -> &'static str {
    match cell {
        MatrixCell::Runs => "runs",
        MatrixCell::Candidate(answer) => answer.word(),
    }
}

/// The same as a table: its first rows and the newest versions.
pub fn text(matrix: &Matrix, by: MatrixBy, has_more: bool, room: Room) -> String {
    if matrix.rows.is_empty() {
        return "No cluster has a policy and is meant by the filters.\n".to_owned();
    }
    let places: &[&str] = match by {
        MatrixBy::Organisation => &["ORGANISATION"],
        MatrixBy::Sector => &["ORGANISATION", "SECTOR"],
        MatrixBy::Workload => &["ORGANISATION", "SECTOR", "WORKLOAD"],
        MatrixBy::Cluster => &["ORGANISATION", "SECTOR", "CLUSTER"],
    };
    let columns = matrix.versions.len().min(MAX_COLUMNS);
    let versions: Vec<String> = matrix.versions[..columns]
        .iter()
        .map(ToString::to_string)
        .collect();
    let head = places.iter().copied();
    let head = head.chain(versions.iter().map(String::as_str));
    let mut table = fitted(head, room.width);
    for row in &matrix.rows {
        let place = place_words(&row.place).into_iter().take(places.len());
        table.add_row(place.chain(cell_words(&row.cells).into_iter().take(columns)));
    }
    align_right(&mut table, places.len()..places.len() + columns);
    let more = matrix.versions.len() - columns + matrix.left_out;
    let mut told = shown(&table);
    if more > 0 {
        told += &format!(
            "… and {}; --output json shows them\n",
            counted(more, "older version")
        );
    }
    if has_more {
        told += "… and more rows; --limit shows them\n";
    }
    told
}

fn place_words(place: &MatrixPlace) -> Vec<String> {
    let or_dash = |name: Option<&Name>| name.map_or_else(|| "-".to_owned(), ToString::to_string);
    let last = match &place.cluster {
        Some((name, _)) => name.to_string(),
        None => or_dash(place.workload.as_ref()),
    };
    vec![
        place.organisation.to_string(),
        or_dash(place.sector.as_ref()),
        last,
    ]
}

fn cell_words(cells: &MatrixCells) -> Vec<String> {
    let count = |count: &u32| match count {
        0 => "-".to_owned(),
        count => count.to_string(),
    };
    let one = |cell: &Option<MatrixCell>| cell.as_ref().map_or("-", word).to_owned();
    match cells {
        MatrixCells::Counts { on, .. } => on.iter().map(count).collect(),
        MatrixCells::One { cells, .. } => cells.iter().map(one).collect(),
    }
}
