//! Dependencies first: the groups of things that depend on one another, each after those it needs.
//!
//! Iterative, so that a long chain of declarations costs no stack.

/// The strongly connected groups of the graph `edges[node] = what it needs`, dependencies first.
pub(crate) fn groups(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        edges,
        index: vec![None; edges.len()],
        low: vec![0; edges.len()],
        open: vec![false; edges.len()],
        stack: Vec::new(),
        next: 0,
        found: Vec::new(),
    };
    for node in 0..edges.len() {
        if search.index.get(node).copied().flatten().is_none() {
            search.run(node);
        }
    }
    search.found
}

/// Whether a group is a cycle: more than one, or one that needs itself.
pub(crate) fn is_cycle(group: &[usize], edges: &[Vec<usize>]) -> bool {
    match group {
        [only] => edges.get(*only).is_some_and(|needs| needs.contains(only)),
        [] => false,
        [_, ..] => true,
    }
}

struct Search<'e> {
    edges: &'e [Vec<usize>],
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    open: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn run(&mut self, root: usize) {
        let mut work = vec![(root, 0)];
        self.enter(root);
        while let Some((node, edge)) = work.pop() {
            if let Some(&target) = self.edges.get(node).and_then(|needs| needs.get(edge)) {
                work.push((node, edge + 1));
                match self.index.get(target).copied().flatten() {
                    None => {
                        self.enter(target);
                        work.push((target, 0));
                    }
                    Some(seen) if self.open.get(target).copied().unwrap_or_default() => self.lower(node, seen),
                    Some(_) => {}
                }
                continue;
            }
            let low = self.low.get(node).copied().unwrap_or_default();
            if self.index.get(node).copied().flatten() == Some(low) {
                self.close(node);
            }
            if let Some(&(parent, _)) = work.last() {
                self.lower(parent, low);
            }
        }
    }

    fn enter(&mut self, node: usize) {
        let (Some(index), Some(low), Some(open)) =
            (self.index.get_mut(node), self.low.get_mut(node), self.open.get_mut(node))
        else {
            return;
        };
        *index = Some(self.next);
        *low = self.next;
        *open = true;
        self.next += 1;
        self.stack.push(node);
    }

    fn lower(&mut self, node: usize, to: usize) {
        if let Some(low) = self.low.get_mut(node) {
            *low = (*low).min(to);
        }
    }

    fn close(&mut self, node: usize) {
        let mut group = Vec::new();
        while let Some(member) = self.stack.pop() {
            if let Some(open) = self.open.get_mut(member) {
                *open = false;
            }
            group.push(member);
            if member == node {
                break;
            }
        }
        group.sort_unstable();
        self.found.push(group);
    }
}

#[cfg(test)]
mod tests {
    use super::{groups, is_cycle};

    #[test]
    fn dependencies_come_first_and_cycles_stay_together() {
        let edges = vec![vec![1], vec![2, 3], vec![1], vec![], vec![4]];
        assert_eq!(groups(&edges), vec![vec![3], vec![1, 2], vec![0], vec![4]]);
        assert!(is_cycle(&[1, 2], &edges));
        assert!(is_cycle(&[4], &edges));
        assert!(!is_cycle(&[3], &edges));
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_needs_no_stack() {
        let edges: Vec<Vec<usize>> =
            (0..100_000).map(|node| if node < 99_999 { vec![node + 1] } else { vec![] }).collect();
        assert_eq!(groups(&edges).len(), 100_000);
    }
}
