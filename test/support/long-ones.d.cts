declare function longOnes(paths: readonly string[]): { readonly filtered: readonly string[] };
export = longOnes;
