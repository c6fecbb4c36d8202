/* A few driven spins in all of their states at once, exactly. This text stands behind kit.js in front of each figure that asks for it,
   which finds it as `driven`. Bit i of a state's number says whether spin i is up; all spins move at once, each with the chances that
   its field gives it. Laws and matrices are flat Float64Arrays, a matrix row by row: from the row's state to the column's. */
const driven = (() => {
  /* beta (h_i + sum_j J_ij s_j), in [state][spin], without a drive h where none is given. */
  function fields(J, beta, drive = null) {
    const n = J.length, found = new Float64Array(2 ** n * n);
    for (let i = 0; i < n; i += 1) {
      const row = J[i], alone = drive ? drive[i] : 0;
      for (let s = 0; s < 2 ** n; s += 1) {
        let h = alone;
        for (let j = 0; j < n; j += 1) h += (s >> j) & 1 ? row[j] : -row[j];
        found[s * n + i] = beta * h;
      }
    }
    return found;
  }

  /* Chances of all moves of n spins from the first so many states, in a table that the next call writes anew. A row is built up spin
     by spin, each doubling it. */
  let chances = new Float64Array(0);
  function moves(felt, n, from = 2 ** n) {
    const size = 2 ** n;
    if (chances.length !== from * size) chances = new Float64Array(from * size);
    for (let s = 0; s < from; s += 1) {
      const row = s * size;
      chances[row] = 1;
      for (let i = 0, built = 1; i < n; i += 1, built *= 2) {
        const up = 1 / (1 + Math.exp(-2 * felt[s * n + i]));
        for (let k = 0; k < built; k += 1) {
          chances[row + built + k] = chances[row + k] * up;
          chances[row + k] *= 1 - up;
        }
      }
    }
    return chances;
  }

  /* A square matrix row by row: views, each with an index of its own, which the innermost loops need to be fast. */
  const rowsOf = (P, n) => Array.from({ length: n }, (_, s) => P.subarray(s * n, (s + 1) * n));

  /* Without a drive opposite states move in opposite ways, so that the moves from half the states are enough: a law's even part, of a
     state and its opposite together, moves by the sum of the chances to get to the two (sign 1), its odd part by their difference. */
  function halved(P, states, sign) {
    const half = states / 2, found = new Float64Array(half * half);
    for (let a = 0; a < half; a += 1) {
      const row = a * states, end = row + states - 1;
      for (let b = 0; b < half; b += 1) found[a * half + b] = P[row + b] + sign * P[end - b];
    }
    return found;
  }

  /* To the first numbers of a row so many parts of four others. */
  function add(row, size, a, A, b, B, c, C, d, D) {
    for (let j = 0; j < size; j += 1) row[j] = row[j] + a * A[j] + b * B[j] + c * C[j] + d * D[j];
  }

  /* One step of a law, or of any numbers by state, with the rows of a matrix: law P. */
  function step(law, rows) {
    const next = new Float64Array(law.length);
    for (let s = 0; s < law.length; s += 4) {
      add(next, law.length, law[s], rows[s], law[s + 1], rows[s + 1], law[s + 2], rows[s + 2], law[s + 3], rows[s + 3]);
    }
    return next;
  }

  /* The stationary law of a chain, by taking out one state after another without a subtraction (Grassmann, Taksar and Heyman), the
     last four at once: what they leave in a row is added to it in one pass. P is used up; its states are a multiple of four. */
  function stationary(P, states) {
    const rows = rowsOf(P, states), outs = [0, 0, 0, 0];
    for (let low = states - 4; low >= 0; low -= 4) {
      for (let n = low + 3; n >= low; n -= 1) { // within the four, one after another
        const last = rows[n];
        let out = 0;
        for (let j = 0; j < n; j += 1) out += last[j];
        for (let i = low; i < n; i += 1) {
          const row = rows[i], part = (row[n] /= out);
          for (let j = 0; j < n; j += 1) row[j] += part * last[j];
        }
        outs[n - low] = out;
      }
      const [D, C, B, A] = rows.slice(low);
      for (let i = 0; i < low; i += 1) {
        const row = rows[i], a = row[low + 3] / outs[3], b = (row[low + 2] + a * A[low + 2]) / outs[2];
        const c = (row[low + 1] + a * A[low + 1] + b * B[low + 1]) / outs[1];
        const d = (row[low] + a * A[low] + b * B[low] + c * C[low]) / outs[0];
        row[low + 3] = a;
        row[low + 2] = b;
        row[low + 1] = c;
        row[low] = d;
        if (a + b + c + d > 0) add(row, low, a, A, b, B, c, C, d, D);
      }
    }
    const law = new Float64Array(states);
    let total = 0;
    law[0] = 1;
    for (let i = 0; i < states; i += 1) {
      total += law[i];
      for (let n = i + 1; n < states; n += 1) law[n] += law[i] * rows[i][n];
    }
    return law.map((part) => part / total);
  }

  /* Of numbers by state, the sum of each times each spin, spin by spin: the last is summed out, and so on. They are used up. */
  function sums(numbers) {
    const found = [];
    for (let half = numbers.length / 2; half >= 1; half /= 2) {
      let sum = 0;
      for (let s = 0; s < half; s += 1) {
        sum += numbers[s + half] - numbers[s];
        numbers[s] += numbers[s + half];
      }
      found.unshift(sum);
    }
    return found;
  }

  return { fields, moves, rowsOf, halved, step, stationary, sums };
})();
