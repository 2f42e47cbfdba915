// Joint models: the mass of each class beside the answers, from a grid of cells or from a mixture of products.

import { readCells, sumOf } from "./cells.js";

/** @import { GridMember, JointModelForm, Label, MixtureMember } from "./documents.js" */
/** @import { Decide } from "./forms.js" */

/** The cell, or the number, of each answer; null where it is missing. @typedef {(number | null)[]} Places */

const TINY = 1e-300; // so that no mass is 0 and no share 0/0; far below any mass that counts

/**
 * Read a joint model: the scores are the mean shares of its members.
 * @param {JointModelForm} form
 * @param {Label[]} classes
 * @returns {Decide}
 */
export function readJoint({ selected, members }, classes) {
  const joints = members.map((member) => {
    const cells = member.cells.map(readCells);
    const massesOf = member.form === "grid" ? readGrid(member, cells, classes) : readMixture(member);
    return (/** @type {any[]} */ answers) => {
      const places = cells.map(({ cellOf }, i) => cellOf(answers[selected[i]]));
      return massesOf(places).map((mass) => mass + TINY);
    };
  });
  return (answers) => {
    const masses = joints.map((massesOf) => massesOf(answers));
    const scores = classes.map((_, y) => sumOf(masses.map((mass) => mass[y] / sumOf(mass))) / masses.length);
    return { scores };
  };
}

/**
 * Read a grid of cells: the mass of each class is a sum over the cells that the answers leave open.
 * @param {GridMember} member
 * @param {{ size: number }[]} cells
 * @param {Label[]} classes
 */
function readGrid({ joint }, cells, classes) {
  const masses = Float32Array.from(joint);

  /** List the entries of class y that the answers leave open. @param {number} y @param {Places} places */
  function indicesOf(y, places) {
    let indices = [y];
    for (const [i, { size }] of cells.entries()) {
      const place = places[i];
      const open = place === null ? [...new Array(size).keys()] : [place];
      indices = indices.flatMap((index) => open.map((cell) => index * size + cell));
    }
    return indices;
  }

  return (/** @type {Places} */ places) => {
    return classes.map((_, y) => sumOf(indicesOf(y, places).map((index) => masses[index])));
  };
}

/**
 * Read a mixture of products: P(y, x) = Σ_z P(z) P(y | z) Π_j θ_j(x_j | z) N(x; mean_z, 1/precision_z).
 * @param {MixtureMember} member
 */
function readMixture({ weights, p_class, thetas, numbers = [], peaks, means, precisions }) {
  /** Return P(z) Π_j θ_j(x_j | z), but for a factor that all z share. @param {Places} places */
  function massesOf(places) {
    let masses = [...weights];
    for (const [i, theta] of thetas.entries()) {
      const place = places[i];
      if (!theta || place === null) continue;
      const products = masses.map((mass, z) => mass * theta[place][z]);
      const largest = Math.max(...products) || 1;
      masses = products.map((mass) => mass / largest);
    }
    return masses;
  }

  /**
   * Return the logarithm of the density, given z, of the numbers that are there; missing ones are integrated out, which
   * divides the mass by the square roots of the `pivots`.
   * @param {number} z
   * @param {Places} places
   */
  function densityOf(z, places) {
    let rows = precisions?.[z] ?? [];
    /** @type {number[]} */
    const pivots = [];
    /** @type {number[]} */
    const away = [];
    for (const [a, i] of numbers.entries()) {
      const x = places[i];
      if (x !== null) {
        away.push(x - means[z][a]);
        continue;
      }
      const own = rows[a];
      pivots.push(own[a]);
      rows = rows.map((row) => row.map((entry, b) => entry - (row[a] / own[a]) * own[b]));
      away.push(0);
    }
    const square = sumOf(rows.map((row, a) => away[a] * sumOf(row.map((entry, b) => entry * away[b]))));
    return { log: (peaks?.[z] ?? 0) - square / 2, pivots };
  }

  return (/** @type {Places} */ places) => {
    const densities = weights.map((_, z) => densityOf(z, places));
    const largest = Math.max(...densities.map(({ log }) => log));
    const parts = massesOf(places).map((mass, z) => {
      const { log, pivots } = densities[z];
      return pivots.reduce((rest, pivot) => rest / Math.sqrt(pivot), mass) * exp(log - largest);
    });
    return p_class.map((share) => sumOf(parts.map((part, z) => part * share[z])));
  };
}

/**
 * Return e^x for x up to 0, in Python's steps: the series of e^(x/1024), squared ten times.
 * @param {number} x
 */
function exp(x) {
  if (x < -700) return 0;
  let power = 1;
  for (let i = 16; i > 0; i--) power = 1 + (power * x) / 1024 / i;
  for (let i = 0; i < 10; i++) power *= power;
  return power;
}
