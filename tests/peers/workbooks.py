"""Writes an Excel workbook with openpyxl or XlsxWriter.

usage: workbooks.py WRITER FILE < description

The description is JSON: {"sheets": [{"name": ..., "hidden": false, "merged": ["A1:B2"], "cells": [[row, column, kind, value]]}]}, with
rows and columns from 0. Kinds: text, rich (a text in two fonts), number, formatted (a number and the code of its format), boolean, date, error, formula (the value is its result, or
null if the workbook has none).
"""

import datetime
import json
import sys


def openpyxl(path, sheets):
    from openpyxl import Workbook
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont

    workbook = Workbook()
    workbook.remove(workbook.active)
    for description in sheets:
        sheet = workbook.create_sheet(description["name"])
        if description["hidden"]:
            sheet.sheet_state = "hidden"
        for row, column, kind, value in description["cells"]:
            cell = sheet.cell(row + 1, column + 1)
            if kind == "text":
                cell.value = value
                # A text such as =1 stays a text, and so does a number in a cell of the format Text.
                cell.data_type, cell.number_format = "s", "@"
            elif kind == "rich":
                half = len(value) // 2
                cell.value = CellRichText(value[:half], TextBlock(InlineFont(b=True), value[half:]))
            elif kind == "formatted":
                cell.value, cell.number_format = value
            elif kind == "date":
                cell.value = datetime.datetime.fromisoformat(value)
            elif kind == "error":
                cell.value = value
                cell.data_type = "e"
            elif kind == "formula":
                cell.value = "=1+1"
            else:
                cell.value = value
        for merged in description["merged"]:
            sheet.merge_cells(merged)
    workbook.save(path)


def xlsxwriter(path, sheets, options):
    import xlsxwriter

    workbook = xlsxwriter.Workbook(path, options)
    bold, date = workbook.add_format({"bold": True}), workbook.add_format({"num_format": "yyyy-mm-dd"})
    for description in sheets:
        sheet = workbook.add_worksheet(description["name"])
        if description["hidden"]:
            sheet.hide()
        else:
            # The first sheet is active unless another one is, and an active sheet is not hidden.
            sheet.activate()
        for row, column, kind, value in sorted(description["cells"], key=lambda cell: cell[:2]):
            if kind == "text":
                sheet.write_string(row, column, value)
            elif kind == "rich" and len(value) > 1:
                half = len(value) // 2
                sheet.write_rich_string(row, column, value[:half], bold, value[half:])
            elif kind == "rich":
                sheet.write_string(row, column, value, bold)
            elif kind == "formatted":
                sheet.write_number(row, column, value[0], workbook.add_format({"num_format": value[1]}))
            elif kind == "boolean":
                sheet.write_boolean(row, column, value)
            elif kind == "date":
                sheet.write_datetime(row, column, datetime.datetime.fromisoformat(value), date)
            elif kind == "error":
                sheet.write_formula(row, column, "=NA()", None, value)
            elif kind == "formula":
                sheet.write_formula(row, column, "=1+1", None, "" if value is None else value)
            else:
                sheet.write_number(row, column, value)
        for merged in description["merged"]:
            first = next(cell for cell in description["cells"] if xlsxwriter.utility.xl_rowcol_to_cell(*cell[:2]) == merged.split(":")[0])
            sheet.merge_range(merged, first[3])
    workbook.close()


writer, path = sys.argv[1:]
sheets = json.load(sys.stdin)["sheets"]
if writer == "openpyxl":
    openpyxl(path, sheets)
else:
    # In constant memory, texts are in the cells themselves.
    xlsxwriter(path, sheets, {"constant_memory": writer == "xlsxwriter-inline"})
