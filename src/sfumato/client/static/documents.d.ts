/** The JSON that a device reads: domains and drawing programs (docs/programs.md), surveys, and shipped models. */

export type Label = string | number | boolean;

/** What a question may be answered with: a number, one of some categories, a basket of items, or a row of columns. */
export interface Domain {
  low?: number;
  high?: number;
  integer?: boolean;
  categories?: Label[];
  /** The items, or how many there are. */
  items?: number | Label[];
  columns?: Record<string, Domain>;
}

/** The codes 0 … size − 1 of labels, of the grid (first + stride · code) / per, or of the classes between edges / per. */
export interface Space {
  size: number;
  labels?: Label[];
  first?: number;
  stride?: number;
  per?: number;
  edges?: number[];
}

/** A 64-bit word as 16 hexadecimal digits. */
export type WordText = string;

export interface Shift { step: "shift"; noise: WordText[]; offset: number; outputs: number }
export interface Window { step: "window"; inside: WordText; window: number; others: number }
export interface Slices { step: "slices"; inside: WordText; prime: number; digits: number; width: number }
export interface Table { step: "table"; tables: WordText[][]; outputs: number }
export interface CodeMap { step: "map"; codes: number[]; outputs: number }
export interface Spread { step: "spread"; starts: number[]; outputs: number }
export type Step = Shift | Window | Slices | Table | CodeMap | Spread;

interface Versioned { program: 1 }

/** One value, blurred step by step. */
export interface ValueProgram extends Versioned {
  words: number;
  read: Space;
  steps: Step[];
  write: Space;
  /** So many steps are drawn once; the others afresh at every round, from what is `remembered`. */
  permanent?: number;
  remembered?: Space;
}

/** Several numbers, blurred by correlated noise. */
export interface RowProgram extends Versioned {
  words: number;
  columns: (Space & { noise: WordText[]; offset: number; weights: number[] })[];
}

export interface SeedForm {
  construction: "polynomial" | "bch";
  bits: number;
  degree: number;
  independence: number;
  polynomial: number;
}

export interface BasketSize {
  size: number;
  /** An item that is not the person's own shows with chance a / 2^b. */
  rho: [a: number, b: number];
  kept: WordText[];
  seed: SeedForm | null;
  words: { bitmap: number; seed: number | null };
}

/** A basket of items (docs/programs-baskets.md). */
export interface BasketProgram extends Versioned { kind: "select-a-size"; items: number; sizes: BasketSize[] }

export type LevelProgram = ValueProgram | RowProgram | BasketProgram;

/** One program for each level that a person may choose. */
export interface ProgramOfLevels extends Versioned { levels: Record<string, LevelProgram>; default: string }

export type Program = LevelProgram | ProgramOfLevels;

/** The words that hold, of one level, what is sent and what it reveals. */
export interface LevelWords { sent: string; worst: string; usual: string; visible: string }

export interface QuestionDocument {
  name: string;
  question: string;
  role: "attribute" | "class" | "clear";
  columns: string[];
  domain: Domain;
  missing: "pass" | "refuse" | null;
  outside: "refuse" | "clamp" | null;
  /** Identity of the mechanism; null: sent as it is. */
  mechanism: string | null;
  program: Program | null;
  /** By name; "" where there is nothing to choose. γ is as stated; `checkGammas` of check/gamma.js compares it. */
  levels: Record<string, { gamma: string | null; words: LevelWords }>;
  default: string | null;
}

/** survey.json (docs/survey.md). */
export interface SurveyDocument {
  survey: 1 | 2;
  plan: string;
  name: string;
  description: string;
  language: string;
  collector: string | null;
  submit: string | null;
  model: string | null;
  questions: QuestionDocument[];
  /** Of version 2: how many of the questions with the role "attribute" a device draws and answers. */
  questions_each?: number;
  together: string[];
  words: Record<string, string>;
}

/** How the answer to a column becomes a cell: labels, edges between cells, or the number itself. */
export interface CellsForm { labels?: Label[]; edges?: number[] }

export interface TreeNode {
  /** Of a leaf: how many of each class. */
  counts?: number[];
  column: number;
  /** The codes that go left, or below which number one goes left. */
  cut: number[] | number;
  left: number;
  right: number;
  missing_left: number;
  /** The shares that go left and right where the answer is missing; without them all go to one side. */
  parts?: [number, number] | null;
  /** The condition of going left, of going right, and of a missing answer. */
  said: [string, string, string];
}

export interface TreeForm { form: "tree"; columns: CellsForm[]; nodes: TreeNode[] }

/** One addend of a class's score: looked up by cell, a parabola of the number, or a product of factors. */
export interface Term extends CellsForm {
  column: number;
  factors?: Term[];
  missing: number[];
  scores?: number[][];
  peak: number[];
  curve: number[];
  mean: number[];
  slope: number[];
  least?: number;
}

export interface SumForm { form: "sum"; start: number[]; terms: Term[] }
export interface PoolForm { form: "pool"; parts: (DeviceForm & { weight: number })[] }
export interface JointForm { form: "joint" }
export type DeviceForm = TreeForm | SumForm | PoolForm | JointForm;

export interface GridMember { form: "grid"; cells: CellsForm[]; joint: number[] }

/** P(y, x) = Σ_z P(z) P(y | z) Π_j θ_j(x_j | z) N(x; mean_z, 1/precision_z). */
export interface MixtureMember {
  form: "mixture";
  cells: CellsForm[];
  weights: number[];
  p_class: number[][];
  thetas: (number[][] | null)[];
  numbers?: number[];
  peaks?: number[];
  means: number[][];
  precisions?: number[][][];
}

export interface JointModelForm { selected: number[]; members: (GridMember | MixtureMember)[] }
